#include "kindlb/apiserver/server.hpp"

#include "kindlb/http_server/listener.hpp"
#include "kindlb/http_server/tls_context.hpp"
#include "service/endpoint_slice_controller.hpp"
#include "storage/state_file.hpp"
#include "verbs/handler.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <thread>

namespace kindlb::apiserver {

namespace {
using namespace std::chrono_literals;
using core::Error;
using core::ErrorKind;

/// Not "application/json" alone: httplib would compress that, and hold back the events of a watch
/// until its buffer is full.
constexpr const char* kJson = "application/json; charset=utf-8";

Request to_request(const httplib::Request& from) {
  Request out;
  out.method = from.method;
  out.path = from.target;  // see http_server::HttpListener
  for (const auto& [name, value] : from.params) out.query[name] = value;
  out.content_type = from.get_header_value("Content-Type");
  out.accept = from.get_header_value("Accept");
  out.user_agent = from.get_header_value("User-Agent");
  out.body = from.body;
  return out;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
}

/// The Status for errors that come from reading a request, before any handler.
StatusError error_for(int code) {
  if (code == 413)
    return {.code = 413,
            .reason = "RequestEntityTooLarge",
            .message = "Request entity too large: limit is 3145728"};
  if (code == 408)
    return {.code = 408, .reason = "Timeout", .message = "timed out waiting for the request"};
  if (code == 431)
    return {.code = 431,
            .reason = "RequestHeaderFieldsTooLarge",
            .message = "the request header is too large"};
  if (code == 429) return too_many("too many requests, please try again later", 1);
  if (code == 414)
    return {.code = 414, .reason = "BadRequest", .message = "the request URI is too long"};
  if (code == 404) return no_such_path();
  auto error = bad_request("malformed HTTP request");
  error.code = code;
  return error;
}

std::string status_body(int code) {
  return dump(to_status(error_for(code))) + "\n";
}

/// At most half of the descriptors that this process may open. The rest is for connections whose
/// requests are being answered, and for everything else in this process.
std::size_t max_connections(std::size_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return std::min<std::size_t>(wanted, 512);
  return std::min(wanted, static_cast<std::size_t>(files.rlim_cur) / 2);
}

http_server::HttpListener::Options listener_options(const ServerOptions& options,
                                                    std::shared_ptr<http_server::TlsContext> tls) {
  http_server::HttpListener::Options out;
  out.limits.request.body = options.max_body;
  out.limits.connections = max_connections(options.max_connections);
  out.limits.header_timeout = options.header_timeout;
  out.limits.request_timeout = 3 * options.header_timeout;
  out.threads = options.max_requests;
  out.tls = std::move(tls);
  out.error_body = status_body;
  return out;
}

/// The order of members matters: http_ refers to the handler, and that to the API and the faults.
/// Threads: the listener accepts, workers of http_ run handlers and watches, the saver writes the
/// state file, the slice controller reconciles.
class HttpServer final : public Server {
 public:
  HttpServer(const ServerOptions& options, const Api::Options& api,
             const std::shared_ptr<http_server::TlsContext>& tls)
      : options_(options),
        certificate_(tls->certificate()),
        api_(api),
        handler_(api_, faults_),
        http_(listener_options(options, tls)) {}
  ~HttpServer() override { stop(); }

  core::Result<void> start();
  int port() const override { return port_; }
  std::string url() const override {
    const bool v6 = options_.host.find(':') != std::string::npos;
    return fmt::format("http://{}:{}", v6 ? "[" + options_.host + "]" : options_.host, port_);
  }
  std::string kubeconfig() const override;
  void stop() override;

 private:
  void configure();
  void handle(const httplib::Request& request, httplib::Response& response);
  void stream(WatchOptions watch, httplib::Response& response);
  void run_saver(const std::stop_token& stop);

  const ServerOptions options_;
  const std::string certificate_;
  Api api_;
  FaultInjector faults_;
  Handler handler_;
  std::stop_source stopping_;
  std::atomic<std::size_t> watches_{0};
  http_server::HttpListener http_;
  int port_ = 0;
  std::jthread listener_;
  std::jthread saver_;
  std::jthread slice_controller_;
};

core::Result<void> HttpServer::start() {
  if (!options_.state_file.empty()) {
    const auto loaded = load_state(api_, options_.state_file);
    if (!loaded.ok()) return loaded.error();
  }
  configure();
  const bool bound = options_.port != 0 ? http_.bind_to_port(options_.host, options_.port)
                                        : (port_ = http_.bind_to_any_port(options_.host)) > 0;
  if (!bound)
    return Error{
        ErrorKind::Unavailable, fmt::format("listen on {}:{}", options_.host, options_.port),
        "the address is in use or does not belong to this machine; choose another with --listen"};
  if (options_.port != 0) port_ = options_.port;
  http_.set_accept_backlog();
  listener_ = std::jthread([this] { http_.listen_after_bind(); });
  // listen_after_bind() marks the server as running before it accepts; stop() works only then.
  while (!http_.is_running()) std::this_thread::yield();
  if (!options_.state_file.empty())
    saver_ = std::jthread([this](const std::stop_token& stop) { run_saver(stop); });
  if (options_.endpoint_slices)
    slice_controller_ = std::jthread(
        [this](const std::stop_token& stop) { EndpointSliceController(api_).run(stop); });
  return {};
}

void HttpServer::configure() {
  http_.set_payload_max_length(options_.max_body);
  // httplib's default, SO_REUSEPORT, would let two servers share a port and its requests.
  http_.set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  const auto handler = [this](const httplib::Request& request, httplib::Response& response) {
    handle(request, response);
  };
  // httplib reads a DELETE without Content-Length until the connection ends, so requests without a
  // body are handled before it gets there.
  http_.set_pre_routing_handler(
      [handler](const httplib::Request& request, httplib::Response& response) {
        if (has_body(request)) return httplib::Server::HandlerResponse::Unhandled;
        handler(request, response);
        return httplib::Server::HandlerResponse::Handled;
      });
  http_.Get(".*", handler);
  http_.Post(".*", handler);
  http_.Put(".*", handler);
  http_.Patch(".*", handler);
  http_.Delete(".*", handler);
  http_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (!response.body.empty()) return;  // from a handler; others stem from parsing the request
    http_server::HttpListener::close_after_response();
    response.set_header("Connection", "close");
    response.set_content(status_body(response.status), kJson);
  });
  http_.set_exception_handler([](const httplib::Request&, httplib::Response& response,
                                 const std::exception_ptr&) {
    response.status = 500;
    response.set_content(dump(to_status(internal("the request could not be processed"))), kJson);
  });
}

void HttpServer::handle(const httplib::Request& request, httplib::Response& response) {
  auto answer = handler_.handle(to_request(request));
  // An injected delay: bounded by the fault injector, and cut short by stop().
  for (const auto until = std::chrono::steady_clock::now() + answer.delay;
       std::chrono::steady_clock::now() < until && !stopping_.stop_requested();)
    std::this_thread::sleep_for(10ms);
  if (answer.watch) {
    stream(std::move(*answer.watch), response);
    return;
  }
  response.status = answer.code;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.set_content(
      answer.body, answer.content_type == "application/json" ? kJson : answer.content_type.c_str());
}

void HttpServer::stream(WatchOptions watch, httplib::Response& response) {
  if (watches_.fetch_add(1) >= options_.max_watches) {
    --watches_;
    const auto error = too_many("too many watches, please try again later", 1);
    response.status = error.code;
    response.set_header("Retry-After", "1");
    response.set_content(dump(to_status(error)) + "\n", kJson);
    return;
  }
  // A watch occupies its worker thread until it ends; max_watches leaves threads for requests.
  const auto lines = std::make_shared<WatchStream>(api_.store(), faults_, std::move(watch));
  response.status = 200;
  response.set_chunked_content_provider(
      kJson,
      [lines, stop = stopping_.get_token()](std::size_t, httplib::DataSink& sink) {
        const auto text = lines->next(stop);
        if (!text) {
          sink.done();
          return true;
        }
        // Nothing happened: only check whether the client is still connected.
        return text->empty() ? sink.is_writable() : sink.write(text->data(), text->size());
      },
      [this](bool) { --watches_; });
}

void HttpServer::run_saver(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  // Runs once more after the stop is requested, so that the last changes are saved.
  Revision saved = 0;
  bool last = false;
  while (!std::exchange(last, stop.stop_requested())) {
    if (!last) never.wait_for(lock, stop, options_.save_every, [] { return false; });
    const auto now = api_.store().revision();
    if (now != saved && save_state(api_.store(), options_.state_file).ok()) saved = now;
  }
}

std::string HttpServer::kubeconfig() const {
  // Over TLS, kubectl prompts for a password unless it has a credential. It is not checked.
  constexpr const char* kUser = "{token: unused}";
  const auto server = options_.tls
                          ? fmt::format("server: https{}\n    certificate-authority-data: {}",
                                        url().substr(4), certificate_)
                          : "server: " + url();
  return fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: kindlb-sandbox\n"
      "clusters:\n- name: kindlb-sandbox\n  cluster:\n    {}\n"
      "contexts:\n- name: kindlb-sandbox\n  context:\n    cluster: kindlb-sandbox\n"
      "    user: kindlb-sandbox\n"
      "users:\n- name: kindlb-sandbox\n  user: {}\n",
      server, options_.tls ? kUser : "{}");
}

void HttpServer::stop() {
  stopping_.request_stop();
  // Watches wait in the store: wake them, or stopping would take as long as their next check.
  api_.store().wake();
  http_.stop();
  listener_ = {};
  http_.close_all();
  slice_controller_ = {};
  saver_ = {};  // last: it saves the final state before it ends
}
}  // namespace

core::Result<std::unique_ptr<Server>> start_server(const ServerOptions& options) {
  Api::Options api;
  api.gates = options.gates;
  api.history = options.history;
  api.service_ranges = options.service_ranges;
  if (api.service_ranges.empty()) api.service_ranges = {*core::Cidr::parse("10.96.0.0/16")};
  const auto tls = http_server::TlsContext::make(options.host);
  if (!tls.ok()) return tls.error();
  auto server = std::make_unique<HttpServer>(options, api, *tls);
  const auto started = server->start();
  if (!started.ok()) return started.error();
  return std::unique_ptr<Server>(std::move(server));
}

std::optional<std::pair<std::string, int>> parse_listen(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  int port = -1;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || rest != end || port < 0 || port > 65535) return std::nullopt;
  if (!core::IpAddress::parse(host)) return std::nullopt;
  return std::pair{host, port};
}

}  // namespace kindlb::apiserver

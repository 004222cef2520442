#include "kindlb/apiserver/server.hpp"

#include "kindlb/base/sleep.hpp"
#include "kindlb/http_server/listener.hpp"
#include "kindlb/http_server/target.hpp"
#include "kindlb/http_server/tls_context.hpp"
#include "service/endpoint_slice_controller.hpp"
#include "storage/state_file.hpp"
#include "verbs/handler.hpp"

#include <sys/resource.h>

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <thread>

namespace kindlb::apiserver {

namespace {
using namespace std::chrono_literals;
using core::Error;
using core::ErrorKind;

Request to_request(const http_server::Request& from) {
  auto target = http_server::parse_target(from.target);
  return {.method = from.method,
          .path = std::move(target.path),
          .query = std::move(target.query),
          .content_type = std::string(from.header("Content-Type")),
          .accept = std::string(from.header("Accept")),
          .user_agent = std::string(from.header("User-Agent")),
          .body = from.body};
}

http_server::Response to_response(Response from) {
  http_server::Response out{.status = from.code,
                            .headers = {{"Content-Type", std::move(from.content_type)}},
                            .body = std::move(from.body)};
  for (auto& [name, value] : from.headers)
    out.headers.push_back({std::move(name), std::move(value)});
  return out;
}

/// The Status for what the listener answers by itself.
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
  if (code == 500) return internal("the request could not be processed");
  auto error = bad_request("malformed HTTP request");
  error.code = code;
  return error;
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
  out.error_response = [](int code) { return to_response(error_response(error_for(code))); };
  return out;
}

/// Counts a watch while it exists.
struct WatchSlot {
  explicit WatchSlot(std::atomic<std::size_t>& watches)
      : count(watches), taken_before(watches.fetch_add(1)) {}
  ~WatchSlot() { --count; }
  WatchSlot(const WatchSlot&) = delete;
  WatchSlot& operator=(const WatchSlot&) = delete;

  std::atomic<std::size_t>& count;
  const std::size_t taken_before;
};

/// The order of members matters: http_ refers to the handler, and that to the API and the faults.
/// Threads: workers of http_ run handlers and watches, the saver writes the state file, the slice
/// controller reconciles.
class HttpServer final : public Server {
 public:
  HttpServer(const ServerOptions& options, const Api::Options& api,
             const std::shared_ptr<http_server::TlsContext>& tls)
      : options_(options),
        certificate_(tls->certificate()),
        api_(api),
        handler_(api_, faults_),
        http_(listener_options(options, tls),
              [this](const http_server::Request& request) { return answer(request); }) {}
  ~HttpServer() override { stop(); }

  core::Result<void> start();
  int port() const override { return http_.port(); }
  std::string url() const override {
    const bool v6 = options_.host.find(':') != std::string::npos;
    return fmt::format("http://{}:{}", v6 ? "[" + options_.host + "]" : options_.host, port());
  }
  std::string kubeconfig() const override;
  void stop() override;

 private:
  http_server::Response answer(const http_server::Request& request);
  http_server::Response stream(WatchOptions watch);
  void run_saver(const std::stop_token& stop);

  const ServerOptions options_;
  const std::string certificate_;
  Api api_;
  FaultInjector faults_;
  Handler handler_;
  std::stop_source stopping_;
  std::atomic<std::size_t> watches_{0};
  http_server::HttpListener http_;
  std::jthread saver_;
  std::jthread slice_controller_;
};

core::Result<void> HttpServer::start() {
  if (!options_.state_file.empty()) {
    const auto loaded = load_state(api_, options_.state_file);
    if (!loaded.ok()) return loaded.error();
  }
  if (!http_.listen(options_.host, options_.port).ok())
    return Error{
        ErrorKind::Unavailable, fmt::format("listen on {}:{}", options_.host, options_.port),
        "the address is in use or does not belong to this machine; choose another with --listen"};
  if (!options_.state_file.empty())
    saver_ = std::jthread([this](const std::stop_token& stop) { run_saver(stop); });
  if (options_.endpoint_slices)
    slice_controller_ = std::jthread(
        [this](const std::stop_token& stop) { EndpointSliceController(api_).run(stop); });
  return {};
}

http_server::Response HttpServer::answer(const http_server::Request& request) {
  auto response = handler_.handle(to_request(request));
  // An injected delay: bounded by the fault injector, and cut short by stop().
  if (response.delay > 0ms) base::sleep_for(stopping_.get_token(), response.delay);
  return response.watch ? stream(std::move(*response.watch)) : to_response(std::move(response));
}

http_server::Response HttpServer::stream(WatchOptions watch) {
  // A watch occupies its worker thread until it ends; max_watches leaves threads for requests.
  const auto slot = std::make_shared<WatchSlot>(watches_);
  if (slot->taken_before >= options_.max_watches)
    return to_response(error_response(too_many("too many watches, please try again later", 1)));
  const auto lines = std::make_shared<WatchStream>(api_.store(), faults_, std::move(watch));
  http_server::Response out{.headers = {{"Content-Type", "application/json"}}};
  out.producer = [slot, lines, stop = stopping_.get_token()] { return lines->next(stop); };
  return out;
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
  http_.close();
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

#include "kindlb/http_server/listener.hpp"

#include "connection_poller.hpp"

#include <poll.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kindlb::http_server {

namespace {
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// How long a worker waits for the client's next request before it returns the connection to the
/// poller. Most clients send the next request at once, and two thread switches cost more than this.
constexpr auto kNextRequestWait = 2ms;
/// Then the connection goes to the back of the queue: one busy client must not keep a worker.
constexpr int kMaxRequestsInARow = 100;

/// Set by a handler for the request that its thread answers: the library hands a handler nothing
/// that leads back to the connection.
thread_local bool close_connection = false;

/// Runs the library's tasks on its accept thread. A task only passes a socket to the poller.
class InlineTaskQueue final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override { task(); }
  void shutdown() override {}
};

/// The stream through which the library reads one request and writes its response. First the bytes
/// that the poller has received, then the socket: a chunked body is read here, within limits of
/// time and size. Consumes what was read from the connection's input when destroyed.
class ConnectionStream final : public httplib::Stream {
 public:
  ConnectionStream(Connection& connection, const ConnectionLimits& limits, std::stop_token stop)
      : connection_(connection),
        deadline_(Clock::now() + limits.request_timeout),
        // The framing of a chunked body may be as large as the body itself.
        max_received_(limits.request.header + 2 * limits.request.body),
        stop_(std::move(stop)) {}
  ~ConnectionStream() override { connection_.input.erase(0, read_); }
  ConnectionStream(const ConnectionStream&) = delete;
  ConnectionStream& operator=(const ConnectionStream&) = delete;

  /// The HTTP status to reject the request with, which was too large or too slow; zero: neither.
  int rejected_with() const { return rejected_with_; }
  bool is_readable() const override {
    return read_ < connection_.input.size() || is_open(*connection_.transport);
  }
  bool is_writable() const override { return is_open(*connection_.transport); }
  socket_t socket() const override { return connection_.transport->fd(); }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}

  ssize_t read(char* into, std::size_t size) override {
    const auto have = std::min(size, connection_.input.size() - read_);
    if (have == 0) return wait_and_read(into, size);
    std::copy_n(connection_.input.data() + read_, have, into);
    read_ += have;
    return static_cast<ssize_t>(have);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    // Swallow the library's own error response: the poller sends ours and drains the client.
    if (rejected_with_ != 0) return static_cast<ssize_t>(size);
    return send_all(*connection_.transport, {bytes, size}, stop_) ? static_cast<ssize_t>(size) : -1;
  }

 private:
  ssize_t wait_and_read(char* into, std::size_t size) {
    while (Clock::now() < deadline_ && received_ <= max_received_ && !stop_.stop_requested()) {
      const auto result = connection_.transport->receive(into, size);
      received_ += result.bytes;
      if (result.state == IoState::Transferred) return static_cast<ssize_t>(result.bytes);
      if (result.state == IoState::Closed) return 0;
      pollfd waiting{.fd = connection_.transport->fd(), .events = POLLIN, .revents = 0};
      poll(&waiting, 1, static_cast<int>(kStopCheck / 1ms));
    }
    rejected_with_ = received_ > max_received_ ? 413 : 408;
    return -1;
  }

  Connection& connection_;
  Clock::time_point deadline_;
  std::size_t max_received_;
  std::stop_token stop_;
  std::size_t read_ = 0;      ///< of the connection's input
  std::size_t received_ = 0;  ///< from the socket
  int rejected_with_ = 0;
};

/// Return whether a complete next request has arrived, waiting a moment for it.
bool next_request_ready(Connection& connection, const RequestLimits& limits) {
  RequestFramer framer(limits);
  if (!connection.input.empty()) return framer.update(connection.input) == RequestState::Complete;
  pollfd waiting{.fd = connection.transport->fd(), .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(kNextRequestWait / 1ms)) <= 0) return false;
  std::array<char, 16 * 1024> chunk;
  const auto result = connection.transport->receive(chunk.data(), chunk.size());
  connection.input.assign(chunk.data(), result.bytes);
  return framer.update(connection.input) == RequestState::Complete;
}

const char* reason_phrase(int status) {
  switch (status) {
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Bad Request";
  }
}

std::string error_response(int status, const std::string& body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, reason_phrase(status), body.size(), body);
}

/// Take away what the library would act on in harmful ways: it decompresses bodies without a limit,
/// repeats overlapping ranges of a response as often as a header can list them, and routes by a
/// regular expression that recurses at each byte of the path. The path moves to `target`.
void sanitize(httplib::Request& request) {
  request.headers.erase("Content-Encoding");
  request.ranges.clear();
  request.target = std::exchange(request.path, "/");
}
}  // namespace

HttpListener::HttpListener(Options options)
    : options_(std::move(options)),
      workers_(options_.threads),
      poller_(std::make_unique<ConnectionPoller>(
          options_.limits,
          [this](Connection connection) {
            // std::function must be copyable; a connection is not.
            workers_.submit([this, shared = std::make_shared<Connection>(std::move(connection))] {
              serve(std::move(*shared));
            });
          },
          [this](int status) { return error_response(status, options_.error_body(status)); })) {
  new_task_queue = [] { return new InlineTaskQueue; };
}

HttpListener::~HttpListener() {
  close_all();
}

bool HttpListener::process_and_close_socket(socket_t socket) {
  poller_->add({.transport = options_.tls != nullptr ? options_.tls->make_transport(socket)
                                                     : make_plain_transport(socket),
                .input = {}});
  return true;
}

bool HttpListener::answer(Connection& connection) {
  ConnectionStream stream(connection, options_.limits, stopping_.get_token());
  bool closed = false;
  close_connection = false;
  const bool reusable =
      process_request(stream, false, closed, sanitize) && !closed && !close_connection;
  connection.rejected_with = stream.rejected_with();
  connection.served_before = true;
  return reusable || connection.rejected_with != 0;
}

void HttpListener::serve(Connection connection) {
  for (int served = 0; served < kMaxRequestsInARow; ++served) {
    if (!answer(connection)) return;
    if (connection.rejected_with != 0 || !next_request_ready(connection, options_.limits.request))
      break;
  }
  poller_->add(std::move(connection));
}

void HttpListener::close_after_response() {
  close_connection = true;
}

void HttpListener::close_all() {
  stopping_.request_stop();
  poller_->stop();
  workers_.stop();
}

}  // namespace kindlb::http_server

#include "kindlb/http_server/listener.hpp"

#include "connection_poller.hpp"
#include "kindlb/base/sleep.hpp"
#include "kindlb/core/assert.hpp"
#include "listening_socket.hpp"
#include "response_writer.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace kindlb::http_server {

namespace {
using namespace std::chrono_literals;

/// How long a worker waits for the client's next request before it returns the connection to the
/// poller. Most clients send the next request at once, and two thread switches cost more than this.
constexpr auto kNextRequestWait = 2ms;
/// Then the connection goes to the back of the queue: one busy client must not keep a worker.
constexpr int kMaxRequestsInARow = 100;
/// Without free descriptors, accepting fails until a connection is closed.
constexpr auto kAcceptRetry = 10ms;

/// Return whether a complete next request has arrived, waiting a moment for it.
bool next_request_ready(Connection& connection) {
  auto& parser = connection.parser;
  if (parser.state() != ParserState::Empty) return parser.state() == ParserState::Complete;
  pollfd waiting{.fd = connection.transport->fd(), .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(kNextRequestWait / 1ms)) <= 0) return false;
  std::array<char, std::size_t{16} << 10U> chunk;
  const auto received = connection.transport->receive(chunk.data(), chunk.size());
  parser.feed({chunk.data(), received.bytes});
  return parser.state() == ParserState::Complete;
}
}  // namespace

HttpListener::HttpListener(Options options, Handler handler)
    : options_(std::move(options)),
      handler_(std::move(handler)),
      workers_(options_.threads),
      poller_(std::make_unique<ConnectionPoller>(
          options_.limits,
          [this](Connection connection) {
            // std::function must be copyable; a connection is not.
            workers_.submit([this, shared = std::make_shared<Connection>(std::move(connection))] {
              serve(std::move(*shared));
            });
          },
          [this](int status) { return to_closing_text(options_.error_response(status)); })) {}

HttpListener::~HttpListener() {
  close();
}

core::Result<void> HttpListener::listen(const std::string& host, int port) {
  KINDLB_ASSERT(socket_ == nullptr);
  auto opened = open_listening_socket(host, port);
  if (!opened.ok()) return opened.error();
  socket_ = std::make_unique<ListeningSocket>(std::move(*opened));
  accept_thread_ = std::jthread([this] { accept_connections(); });
  return {};
}

int HttpListener::port() const {
  return socket_ == nullptr ? 0 : socket_->port;
}

void HttpListener::close() {
  stopping_.request_stop();
  if (accept_thread_.joinable()) {
    shutdown(socket_->fd.get(), SHUT_RDWR);  // ends accept4()
    accept_thread_.join();
    socket_->fd.reset();
  }
  poller_->stop();
  workers_.stop();
}

void HttpListener::accept_connections() {
  const auto stop = stopping_.get_token();
  while (!stop.stop_requested()) {
    const int socket = accept4(socket_->fd.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      base::sleep_for(stop, kAcceptRetry);
      continue;
    }
    poller_->add({.transport = options_.tls != nullptr ? options_.tls->make_transport(socket)
                                                       : make_plain_transport(socket),
                  .parser = RequestParser(options_.limits.request)});
  }
}

void HttpListener::serve(Connection connection) {
  for (int served = 0; served < kMaxRequestsInARow; ++served) {
    if (!answer(connection)) return;
    if (!next_request_ready(connection)) break;
  }
  connection.served_before = true;
  poller_->add(std::move(connection));
}

bool HttpListener::answer(Connection& connection) {
  const auto request = connection.parser.take();
  return write_response(*connection.transport, request, call_handler(request),
                        stopping_.get_token());
}

Response HttpListener::call_handler(const Request& request) const {
  try {
    return handler_(request);
  } catch (...) {  // of a library, or out of memory: no reason to end the process
    return options_.error_response(500);
  }
}

}  // namespace kindlb::http_server

#include "upgrade.hpp"

#include "curl_error.hpp"
#include "response_head.hpp"
#include "text.hpp"
#include "transfer.hpp"

#include <poll.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

namespace kindlb::http {

using core::Error;
using core::ErrorKind;
using core::Result;
using std::chrono::milliseconds;

namespace {

/// The taken-over connection. Owns the handles, and with them the socket.
class CurlDuplex final : public Duplex {
 public:
  CurlDuplex(std::unique_ptr<CurlHandles> handles, curl_socket_t socket, std::string operation)
      : handles_(std::move(handles)), socket_(socket), operation_(std::move(operation)) {}

  int fd() const override { return socket_; }

  Result<std::size_t> read(std::span<char> into) override {
    if (!buffered_.empty()) return take_buffered(into);
    std::size_t received = 0;
    CURLcode code = CURLE_OK;
    {
      const std::scoped_lock lock(mutex_);
      code = curl_easy_recv(handles_->easy(), into.data(), into.size(), &received);
    }
    if (code == CURLE_AGAIN) return std::size_t{0};
    if (code != CURLE_OK) return failure(code);
    if (received == 0 && !into.empty())
      return Error{ErrorKind::Unavailable, operation_, "the peer closed the stream"};
    return received;
  }

  Result<void> write(std::string_view bytes, milliseconds timeout) override {
    const auto deadline = Clock::now() + timeout;
    while (!bytes.empty()) {
      auto sent = write_some(bytes);
      if (!sent) return sent.error();
      bytes.remove_prefix(*sent);
      if (*sent == 0 && !wait_writable(deadline))
        return Error{ErrorKind::Timeout, operation_,
                     fmt::format("the peer has not read for {} ms", timeout.count())};
    }
    return {};
  }

  /// Keep bytes of the stream that arrived together with the answer's head; read() returns them
  /// first. Call before the Duplex is handed out.
  void set_buffered(std::string_view bytes) { buffered_ = bytes; }
  CurlHandles& handles() { return *handles_; }

 private:
  Result<std::size_t> take_buffered(std::span<char> into) {
    const std::size_t count = std::min(into.size(), buffered_.size());
    std::memcpy(into.data(), buffered_.data(), count);
    buffered_.erase(0, count);
    return count;
  }

  /// Return how many bytes the kernel took; 0: none at the moment.
  Result<std::size_t> write_some(std::string_view bytes) {
    std::size_t sent = 0;
    const std::scoped_lock lock(mutex_);
    const CURLcode code = curl_easy_send(handles_->easy(), bytes.data(), bytes.size(), &sent);
    if (code == CURLE_AGAIN) return std::size_t{0};
    if (code != CURLE_OK) return failure(code);
    return sent;
  }

  bool wait_writable(Clock::time_point deadline) const {
    pollfd writable{.fd = socket_, .events = POLLOUT, .revents = 0};
    return ::poll(&writable, 1, poll_timeout(deadline)) > 0;
  }

  Error failure(CURLcode code) const {
    return {kind_of_curl(code, 0), operation_, curl_easy_strerror(code)};
  }

  // An easy handle is not thread-safe, so reader and writer take turns. Neither blocks while
  // holding the lock: the socket is non-blocking, and waiting happens outside.
  std::mutex mutex_;
  std::unique_ptr<CurlHandles> handles_;
  const curl_socket_t socket_;
  const std::string operation_;
  std::string buffered_;  // used by the reading thread only
};

/// The exchange of request and answer on a connection that has been made. Lives for one upgrade.
class Handshake {
 public:
  Handshake(CurlDuplex& duplex, const Destination& destination, const Request& request,
            std::stop_token stop)
      : duplex_(duplex), destination_(destination), request_(request), stop_(std::move(stop)) {}

  Result<void> run() {
    const std::stop_callback wakeup_on_stop(stop_, [this] { duplex_.handles().wakeup(); });
    const auto& [endpoint, route, unused] = destination_;
    const std::string text =
        write_upgrade_request(request_, route.prefix, route.authority, endpoint.bearer_token);
    if (auto written = duplex_.write(text, request_.timeout); !written) return written;
    auto head = read_head();
    if (!head) return head.error();
    if (head->status != 101 && head->status != 200) return refusal(*head);
    duplex_.set_buffered(std::exchange(received_, {}));
    return {};
  }

 private:
  Result<Response> read_head() {
    for (;;) {
      auto head = parse_response_head(received_);
      if (head.parsed == Parsed::Malformed)
        return error(ErrorKind::Protocol, "the answer is not HTTP/1.1");
      if (head.parsed == Parsed::Complete) {
        received_.erase(0, head.size);
        if (head.response.status / 100 != 1 || head.response.status == 101)
          return std::move(head.response);
        continue;  // 100 Continue and the like: the final answer is still to come
      }
      if (auto more = read_more(); !more) return more.error();
    }
  }

  /// Return the Error of an answer that is neither 101 nor 200, with as much of its body as arrives
  /// before the connection closes, the deadline passes or a limit is reached: the status is known,
  /// so a failure to read the rest only shortens the detail.
  Error refusal(const Response& head) {
    bool closed = false;
    for (;;) {
      if (auto body = refusal_body(head, received_, closed))
        return {kind_of_status(head.status), operation_of(request_),
                body->empty() ? fmt::format("HTTP status {}", head.status) : *std::move(body)};
      closed = !read_more().ok();
    }
  }

  /// Wait for at least one more byte.
  Result<void> read_more() {
    std::array<char, 4096> buffer{};
    for (;;) {
      auto count = duplex_.read(buffer);
      if (!count) return count.error();
      if (*count > 0) {
        received_.append(buffer.data(), *count);
        return {};
      }
      if (auto waited = wait_readable(); !waited) return waited;
    }
  }

  /// Poll through libcurl rather than poll(2), so that the wakeup of a stop request ends it.
  Result<void> wait_readable() {
    if (stop_.stop_requested()) return error(ErrorKind::Cancelled, "a stop was requested");
    if (Clock::now() >= deadline_)
      return error(ErrorKind::Timeout,
                   fmt::format("no answer within {} ms", request_.timeout.count()));
    curl_waitfd readable{.fd = duplex_.fd(), .events = CURL_WAIT_POLLIN, .revents = 0};
    curl_multi_poll(duplex_.handles().multi(), &readable, 1, poll_timeout(deadline_), nullptr);
    return {};
  }

  Error error(ErrorKind kind, std::string_view detail) const {
    return {kind, operation_of(request_),
            fmt::format("{}: {}", destination_.route.display_name, detail)};
  }

  CurlDuplex& duplex_;
  const Destination& destination_;
  const Request& request_;
  const std::stop_token stop_;
  const Clock::time_point deadline_ = Clock::now() + request_.timeout;
  std::string received_;
};

}  // namespace

Result<std::unique_ptr<Duplex>> upgrade_connection(const Destination& destination,
                                                   const Request& request,
                                                   const std::stop_token& stop) {
  auto handles = CurlHandles::make();
  if (!handles) return Error{ErrorKind::Unavailable, "set up libcurl", "out of memory"};
  // A temporary on purpose: the transfer ends here, the connection it made stays with the handles.
  if (auto made = Transfer(*handles, destination, request, nullptr).connect(stop); !made)
    return made.error();
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(handles->easy(), CURLINFO_ACTIVESOCKET, &socket);
  if (socket == CURL_SOCKET_BAD)
    return Error{ErrorKind::Unavailable, operation_of(request), "the connection is gone"};

  auto duplex = std::make_unique<CurlDuplex>(std::move(handles), socket, operation_of(request));
  if (auto done = Handshake(*duplex, destination, request, stop).run(); !done) return done.error();
  return std::unique_ptr<Duplex>(std::move(duplex));
}

}  // namespace kindlb::http

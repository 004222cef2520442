#include "envoy/admin_client.hpp"

#include "unix_address.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kindlb::agent {
namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kMaxAnswer = std::size_t{16} << 20U;
constexpr std::chrono::seconds kDeadline{2};

Error unavailable(const std::string& detail) {
  return {ErrorKind::Unavailable, "query Envoy's admin interface", detail};
}

}  // namespace

core::Result<void> AdminClient::connect() {
  const auto address = UnixAddress::parse(socket_);
  if (!address) return unavailable("the socket name is too long");
  base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), address->get(), address->size()) != 0)
    return unavailable(std::strerror(errno));
  connection_ = std::move(socket);
  return {};
}

void AdminClient::get(const std::string& path, Done done) {
  done_ = std::move(done);
  response_ = HttpResponse(kMaxAnswer);
  unsent_ = "GET " + path + " HTTP/1.1\r\nhost: envoy\r\n\r\n";
  if (!connection_) {
    if (const auto connected = connect(); !connected) {
      timer_ = loop_.after({}, [this, error = connected.error()] { finish(error); });
      return;
    }
  }
  timer_ = loop_.after(kDeadline, [this] { fail("no response within 2 s"); });
  loop_.watch(connection_.get(), POLLIN | POLLOUT, [this](short) {
    if (!unsent_.empty() && !send_request()) return;
    readable();
  });
}

/// Send what is left of the request. False: it failed and `done` has been called, which may have
/// started another one.
bool AdminClient::send_request() {
  const auto sent = ::send(connection_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    fail(std::strerror(errno));
    return false;
  }
  if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
  if (unsent_.empty()) loop_.watch(connection_.get(), POLLIN, [this](short) { readable(); });
  return true;
}

void AdminClient::readable() {
  std::array<char, 65536> buffer{};
  const auto size = ::recv(connection_.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return fail("connection closed");
  switch (response_.feed({buffer.data(), static_cast<std::size_t>(size)})) {
    case HttpResponse::State::Incomplete:
      return;
    case HttpResponse::State::Malformed:
      return fail("malformed response");
    case HttpResponse::State::Complete:
      break;
  }
  if (response_.status() != 200) return fail("status " + std::to_string(response_.status()));
  loop_.unwatch(connection_.get());
  if (!response_.keep_alive()) connection_.reset();
  finish(response_.body());
}

void AdminClient::fail(const std::string& detail) {
  if (connection_) loop_.unwatch(connection_.get());
  connection_.reset();
  finish(unavailable(detail));
}

/// Moved out before the call: `done` may call get(), which sets the next one.
void AdminClient::finish(core::Result<std::string> result) {
  loop_.cancel(timer_);
  const auto done = std::exchange(done_, nullptr);
  if (done) done(std::move(result));
}

void AdminClient::close() {
  if (connection_) loop_.unwatch(connection_.get());
  connection_.reset();
  loop_.cancel(timer_);
  done_ = nullptr;
}

}  // namespace kindlb::agent

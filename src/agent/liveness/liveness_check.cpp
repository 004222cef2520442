#include "liveness/liveness_check.hpp"

#include "liveness/liveness_verdict.hpp"
#include "log.hpp"
#include "unix_address.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace kindlb::agent {

void LivenessCheck::start() {
  if (std::exchange(running_, true)) return;
  ask();
}

void LivenessCheck::stop() {
  running_ = false;
  loop_.cancel(timer_);
  disconnect();
}

/// Nobody there to ask means that the listener is not: that is not a hung Envoy, which would keep
/// it. Tried again later.
void LivenessCheck::ask() {
  first_.clear();
  reported_ = false;
  asked_ = loop_.now();
  const bool sent = (connection_ || connect()) &&
                    ::send(connection_.get(), "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
  if (sent) return look_after(kOverdue);
  disconnect();
  timer_ = loop_.after(kInterval, [this] { ask(); });
}

bool LivenessCheck::connect() {
  const auto address = UnixAddress::parse(socket_);
  base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!address || ::connect(socket.get(), address->get(), address->size()) != 0) return false;
  connection_ = std::move(socket);
  loop_.watch(connection_.get(), POLLIN, [this](short) { readable(); });
  return true;
}

void LivenessCheck::disconnect() {
  if (connection_) loop_.unwatch(connection_.get());
  connection_.reset();
}

/// An end of the connection is an answer, too: only a worker closes it.
void LivenessCheck::readable() {
  std::array<char, 64> buffer{};
  const auto size = ::recv(connection_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) disconnect();
  answered();
}

void LivenessCheck::answered() {
  if (reported_) log("Envoy answered after " + std::to_string(waited().count()) + " ms");
  loop_.cancel(timer_);
  timer_ = loop_.after(kInterval, [this] { ask(); });
}

void LivenessCheck::look_after(Loop::Duration delay) {
  due_ = loop_.now() + delay;
  timer_ = loop_.after(delay, [this] { look(); });
}

void LivenessCheck::look() {
  const bool delayed = loop_.now() - due_ > kDelayed;
  if (first_.empty() || delayed) {
    before_ = events_.threads();
    if (first_.empty()) first_ = before_;
    return look_after(kLook);
  }
  judge();
}

void LivenessCheck::judge() {
  auto now = events_.threads();
  if (is_hung({first_, before_, now, waited()})) {
    const auto silence = waited();
    stop();
    return events_.hung(silence);
  }
  if (!std::exchange(reported_, true))
    log("Envoy has not answered for " + std::to_string(waited().count()) +
        " ms, but runs: the machine is busy");
  before_ = std::move(now);
  look_after(kLook);
}

std::chrono::milliseconds LivenessCheck::waited() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - asked_);
}

}  // namespace kindlb::agent

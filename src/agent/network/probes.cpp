#include "network/probes.hpp"

#include "network/socket_address.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kindlb::agent {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstRetry{20};
constexpr milliseconds kSlowestRetry{200};
/// TCP repeats a lost SYN only after a second. A new connection is tried before that: the first
/// packet to a neighbour is often lost while its address is being resolved.
constexpr milliseconds kFirstRoundTimeout{100};
constexpr std::size_t kMaxTargets = 16;

bool is_no_route(int error) {
  return error == ENETUNREACH || error == EAFNOSUPPORT;
}

}  // namespace

Prober::Prober(Loop& loop, core::Probe probe, milliseconds timeout, Done done)
    : loop_(loop),
      probe_(std::move(probe)),
      done_(std::move(done)),
      deadline_(loop_.now() + timeout),
      round_timeout_(kFirstRoundTimeout),
      retry_delay_(kFirstRetry) {
  outcome_.label = probe_.label;
  if (probe_.targets.size() > kMaxTargets) probe_.targets.resize(kMaxTargets);
  deadline_timer_ = loop_.after(timeout, [this] { deadline_passed(); });
}

Prober::~Prober() {
  drop_attempts();
  loop_.cancel(retry_timer_);
  loop_.cancel(round_timer_);
  loop_.cancel(deadline_timer_);
}

/// Connect to every target. A connection may succeed or fail at once; `starting_` keeps such a
/// result from ending the round, or calling `done`, before all targets have been tried.
void Prober::round() {
  no_route_ = true;
  refused_ = false;
  starting_ = true;
  for (const auto& target : probe_.targets)
    if (!finished_) connect(target);
  starting_ = false;
  if (finished_) return;
  if (attempts_.empty()) return round_ended();
  round_timer_ = loop_.after(round_timeout_, [this] { round_timed_out(); });
}

void Prober::round_timed_out() {
  if (loop_.now() + round_timeout_ >= deadline_) return;  // the last round gets all the time
  last_failure_ = attempts_.begin()->second.target.text() + ": no answer";
  round_timeout_ *= 2;
  drop_attempts();
  round();
}

void Prober::connect(const core::Target& target) {
  const int family = target.address.family() == core::IpFamily::V4 ? AF_INET : AF_INET6;
  base::Fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return failed(target, errno);
  const SocketAddress to(target.address, target.port);
  if (::connect(socket.get(), to.get(), to.size()) == 0)
    return finish(protocol::ProbeResult::Reached, {});
  if (errno != EINPROGRESS) return failed(target, errno);
  const int fd = socket.get();
  attempts_.insert_or_assign(fd, Attempt{std::move(socket), target});
  loop_.watch(fd, POLLOUT, [this, fd](short) { completed(fd); });
}

void Prober::completed(int fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return finish(protocol::ProbeResult::Reached, {});
  loop_.unwatch(fd);
  auto node = attempts_.extract(fd);
  failed(node.mapped().target, error);
  if (!finished_ && attempts_.empty() && !starting_) round_ended();
}

void Prober::failed(const core::Target& target, int error) {
  last_failure_ = target.text() + ": " + std::strerror(error);
  if (error == ECONNREFUSED && probe_.any_answer) return finish(protocol::ProbeResult::Reached, {});
  if (error == ECONNREFUSED) refused_ = true;
  if (!is_no_route(error)) no_route_ = false;
}

void Prober::round_ended() {
  loop_.cancel(round_timer_);
  if (probe_.targets.empty())
    return finish(protocol::ProbeResult::Unreachable, "the probe has no target");
  // Without a route waiting does not help: routes are installed before probes start. A refused
  // connection may be a pod that is just starting.
  if (no_route_) return finish(protocol::ProbeResult::Unreachable, last_failure_);
  if (loop_.now() + retry_delay_ >= deadline_) return;  // deadline_passed() decides
  retry_timer_ = loop_.after(retry_delay_, [this] { round(); });
  retry_delay_ = std::min(retry_delay_ * 2, kSlowestRetry);
}

/// Refused counts more than silence: a host that refuses has been reached, so the network is not to
/// blame.
void Prober::deadline_passed() {
  if (finished_) return;
  if (refused_) return finish(protocol::ProbeResult::Refused, last_failure_);
  const auto silent =
      attempts_.empty() ? std::string() : attempts_.begin()->second.target.text() + ": no answer";
  finish(protocol::ProbeResult::Unreachable, silent.empty() ? last_failure_ : silent);
}

void Prober::finish(protocol::ProbeResult result, std::string detail) {
  finished_ = true;
  outcome_.result = result;
  outcome_.detail = std::move(detail);
  drop_attempts();
  loop_.cancel(retry_timer_);
  loop_.cancel(round_timer_);
  loop_.cancel(deadline_timer_);
  // From the loop, not from here: the owner may destroy this object in `done`.
  if (!starting_) loop_.after({}, done_);
}

void Prober::drop_attempts() {
  for (const auto& [fd, attempt] : attempts_) loop_.unwatch(fd);
  attempts_.clear();
}

ProbeSet::ProbeSet(Loop& loop, const std::vector<core::Probe>& probes, milliseconds timeout,
                   const std::function<void()>& finished) {
  for (const auto& probe : probes) {
    auto& prober = probers_.emplace_back(loop, probe, timeout, finished);
    prober.start();
  }
}

bool ProbeSet::is_finished() const {
  return std::all_of(probers_.begin(), probers_.end(),
                     [](const auto& prober) { return prober.is_finished(); });
}

std::vector<protocol::ProbeOutcome> ProbeSet::outcomes() const {
  std::vector<protocol::ProbeOutcome> out;
  for (const auto& prober : probers_) out.push_back(prober.outcome());
  return out;
}

}  // namespace kindlb::agent

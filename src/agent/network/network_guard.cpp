#include "network/network_guard.hpp"

#include "log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::agent {

void NetworkGuard::changed() {
  if (std::exchange(looking_soon_, true)) return;
  look_at(std::max(loop_.now() + kSettle, not_before_));
}

void NetworkGuard::look_at(Loop::TimePoint time) {
  loop_.cancel(timer_);
  timer_ = loop_.after(time - loop_.now(), [this] { look(); });
}

void NetworkGuard::look() {
  if (checking_ > 0) return look_at(loop_.now() + kSettle);  // the former look has not ended
  looking_soon_ = false;
  found_.clear();
  refused_.clear();
  const auto losses = parts_.network.find_losses();
  const bool rules_lost = parts_.filter.find_changes();
  if (losses) {
    note(losses->problem);
    parts_.sync.hold_back(losses->stranded);
    parts_.checks.forget(losses->stranded);
    if (losses->any()) log_losses(*losses);
  } else {
    note(losses.error().operation + ": " + losses.error().detail);
  }
  const bool lost = rules_lost || (losses && losses->any());
  if (lost) not_before_ = loop_.now() + kPause;
  if (!lost && problem_.empty()) return conclude();
  restore();
  check_held_back();
}

void NetworkGuard::log_losses(const NetworkLosses& losses) {
  if (loop_.now() < quiet_until_) return;
  quiet_until_ = loop_.now() + kLogPause;
  for (const auto& address : losses.addresses) log("restoring address " + address.text());
  for (const auto& address : losses.stranded)
    log("the interface with address " + address.text() + " has gone");
  if (!losses.routes.empty())
    log("restoring " + std::to_string(losses.routes.size()) +
        (losses.routes.size() == 1 ? " route" : " routes"));
}

/// Announcing empties the neighbour table, which running checks read: they start over.
void NetworkGuard::restore() {
  bool announced = false;
  refused_ = parts_.sync.restore(announced);
  if (announced) parts_.checks.restart();
}

/// One by one: an address that another host has must not keep the others back.
void NetworkGuard::check_held_back() {
  const auto addresses = parts_.sync.held_back();
  checking_ = addresses.size();
  admitted_ = false;
  if (addresses.empty()) return conclude();
  for (const auto& address : addresses)
    parts_.checks.check({address}, [this, address](const AddressChecks::Problem& problem) {
      checked(address, problem);
    });
}

void NetworkGuard::checked(const core::Cidr& address, const AddressChecks::Problem& problem) {
  if (problem) {
    note(*problem);
  } else {
    parts_.sync.admit(address);
    admitted_ = true;
  }
  if (--checking_ > 0) return;
  if (admitted_) restore();
  conclude();
}

void NetworkGuard::note(const std::string& problem) {
  if (found_.empty()) found_ = problem;
}

/// What was refused comes last: without an interface, a route that is refused for it is no news.
void NetworkGuard::conclude() {
  note(refused_);
  if (found_ != problem_) {
    problem_ = found_;
    log(problem_.empty() ? "the network is whole again" : "the network is not whole: " + problem_);
    problem_changed_();
  }
  if (!problem_.empty() && !looking_soon_) look_at(loop_.now() + kRetry);
}

}  // namespace kindlb::agent

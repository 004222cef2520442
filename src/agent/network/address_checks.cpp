#include "network/address_checks.hpp"

#include <utility>

namespace kindlb::agent {
namespace {
constexpr std::chrono::milliseconds kLook{3};
}  // namespace

bool AddressChecks::is_settled(const core::IpAddress& address) const {
  if (network_.holds(address)) return true;
  const auto found = free_.find(address);
  return found != free_.end() && Loop::Clock::now() - found->second < kRemembered;
}

void AddressChecks::check(const std::vector<core::Cidr>& addresses, Done done) {
  Pending pending{{}, {}, std::move(done)};
  for (const auto& address : addresses)
    if (!is_settled(address.address)) pending.addresses.push_back(address.address);
  const auto problem = ask(pending);
  if (pending.addresses.empty() || !problem.empty()) return pending.done(problem);
  pending_.push_back(std::move(pending));
  tick_later();
}

std::string AddressChecks::ask(Pending& pending) {
  for (const auto& address : pending.addresses) {
    const auto asked = network_.solicit(address);
    if (!asked) return asked.error().operation + ": " + asked.error().detail;
  }
  pending.until = Loop::Clock::now() + kSilence;
  return {};
}

void AddressChecks::restart() {
  for (auto& pending : pending_) (void)ask(pending);
}

void AddressChecks::tick_later() {
  if (!std::exchange(ticking_, true)) loop_.after(kLook, [this] { tick(); });
}

/// All checks that are over are collected before the first is told: what it does with the good news
/// (announce) would disturb the others.
void AddressChecks::tick() {
  std::list<std::pair<Done, std::string>> over;
  std::erase_if(pending_, [&](Pending& pending) {
    auto problem = verdict(pending);
    if (!problem) return false;
    over.emplace_back(std::move(pending.done), std::move(*problem));
    return true;
  });
  ticking_ = false;
  if (!pending_.empty()) tick_later();
  for (const auto& [done, problem] : over) done(problem);
}

std::optional<std::string> AddressChecks::verdict(const Pending& pending) {
  for (const auto& address : pending.addresses)
    if (const auto holder = network_.holder_of(address))
      return address.text() + " is in use by " + holder->mac;
  const auto now = Loop::Clock::now();
  if (now < pending.until) return std::nullopt;
  std::erase_if(free_, [&](const auto& entry) { return now - entry.second >= kRemembered; });
  for (const auto& address : pending.addresses) free_.insert_or_assign(address, now);
  return std::string();
}

}  // namespace kindlb::agent

#include "network/address_checks.hpp"

#include <utility>

namespace kindlb::agent {
namespace {
constexpr std::chrono::milliseconds kPollInterval{3};
}  // namespace

bool AddressChecks::is_known_free(const core::IpAddress& address) const {
  if (network_.holds(address)) return true;
  const auto found = free_.find(address);
  return found != free_.end() && loop_.now() - found->second < kFreeFor;
}

void AddressChecks::check(const std::vector<core::Cidr>& addresses, Done done) {
  Pending pending{{}, {}, std::move(done)};
  for (const auto& address : addresses)
    if (!is_known_free(address.address)) pending.addresses.push_back(address.address);
  const auto problem = solicit(pending);
  if (pending.addresses.empty() || problem) return pending.done(problem);
  pending_.push_back(std::move(pending));
  poll_later();
}

AddressChecks::Problem AddressChecks::solicit(Pending& pending) {
  for (const auto& address : pending.addresses) {
    const auto asked = network_.solicit(address);
    if (!asked) return asked.error().operation + ": " + asked.error().detail;
  }
  pending.until = loop_.now() + kReplyWindow;
  return std::nullopt;
}

void AddressChecks::forget(const std::vector<core::Cidr>& addresses) {
  for (const auto& lost : addresses) free_.erase(lost.address);
}

void AddressChecks::restart() {
  for (auto& pending : pending_) (void)solicit(pending);
}

void AddressChecks::poll_later() {
  if (!std::exchange(polling_, true)) loop_.after(kPollInterval, [this] { poll_neighbours(); });
}

/// Collect every check that has ended before calling the first `done`: what that does, announcing
/// an address, empties the neighbour table the others still have to be read from.
void AddressChecks::poll_neighbours() {
  std::list<std::pair<Done, Problem>> over;
  std::erase_if(pending_, [&](Pending& pending) {
    auto conflict = conflict_of(pending);
    if (!conflict && loop_.now() < pending.until) return false;
    if (!conflict) remember_free(pending);
    over.emplace_back(std::move(pending.done), std::move(conflict));
    return true;
  });
  polling_ = false;
  if (!pending_.empty()) poll_later();
  for (const auto& [done, problem] : over) done(problem);
}

AddressChecks::Problem AddressChecks::conflict_of(const Pending& pending) {
  for (const auto& address : pending.addresses)
    if (const auto mac = network_.find_neighbour(address))
      return address.text() + " is in use by another host with MAC address " + *mac;
  return std::nullopt;
}

void AddressChecks::remember_free(const Pending& pending) {
  const auto now = loop_.now();
  std::erase_if(free_, [&](const auto& entry) { return now - entry.second >= kFreeFor; });
  for (const auto& address : pending.addresses) free_.insert_or_assign(address, now);
}

}  // namespace kindlb::agent

#include "reconciler/address_conflicts.hpp"

namespace kindlb::controller {

void AddressConflicts::note(const std::vector<core::IpAddress>& addresses, Loop::TimePoint now) {
  std::erase_if(until_, [&](const auto& item) { return item.second <= now; });
  for (const auto& address : addresses) until_.insert_or_assign(address, now + kMemory);
}

std::set<core::IpAddress> AddressConflicts::at(Loop::TimePoint now) const {
  std::set<core::IpAddress> out;
  for (const auto& [address, until] : until_)
    if (until > now) out.insert(address);
  return out;
}

}  // namespace kindlb::controller

#include "kindlb/core/addresses.hpp"

#include <algorithm>
#include <iterator>

namespace kindlb::core {

std::string why_not_usable(const IpAddress& address, const AddressSpace& space) {
  if (!space.subnet.contains(address))
    return "is outside the docker network " +
           Cidr{space.subnet.first(), space.subnet.length}.text();
  if (address == space.subnet.first() || address == space.subnet.last())
    return "is the first or last address of the docker network, which cannot be used";
  if (space.taken.contains(address)) return "is already in use";
  return {};
}

bool is_usable(const IpAddress& address, const AddressSpace& space) {
  return space.subnet.contains(address) && address != space.subnet.first() &&
         address != space.subnet.last() && !space.taken.contains(address);
}

/// Pools are tried from the highest down, whatever the order of the flags, so that the choice
/// depends only on what is configured and taken.
std::optional<IpAddress> highest_free(const AddressSpace& space) {
  auto pools = space.pools;
  if (pools.empty()) pools.push_back({space.subnet.first(), space.subnet.last()});
  std::sort(pools.begin(), pools.end(),
            [](const AddressRange& a, const AddressRange& b) { return b.last < a.last; });
  const auto first = space.subnet.first();
  const auto top = space.subnet.last().previous();
  for (const auto& pool : pools) {
    if (!top || pool.family() != first.family()) continue;
    // A pool may exceed the subnet (--ip-range is not checked against it): clip it.
    std::optional<IpAddress> candidate = std::min(pool.last, *top);
    // Walk downwards with an iterator into `taken`: a lookup per step would be quadratic with many
    // Services, whose addresses form one long run at the top.
    auto held = space.taken.upper_bound(*candidate);
    while (candidate && *candidate >= pool.first && *candidate > first) {
      if (held == space.taken.begin() || *std::prev(held) != *candidate) return candidate;
      --held;
      candidate = candidate->previous();
    }
  }
  return std::nullopt;
}

std::string where_from(const AddressSpace& space) {
  auto network = Cidr{space.subnet.first(), space.subnet.length}.text();
  if (space.pools.empty()) return network;
  std::string out;
  for (const auto& pool : space.pools) out += (out.empty() ? "" : ", ") + pool.text();
  return out + " (--ip-range) of " + network;
}

std::optional<IpAddress> choose_address(const AddressSpace& space,
                                        const std::vector<IpAddress>& preferred) {
  for (const auto& address : preferred)
    if (is_usable(address, space)) return address;
  return highest_free(space);
}

std::vector<IpAddress> reported_addresses(const Service& service, IpFamily family) {
  std::vector<IpAddress> out;
  for (const auto& ingress : service.status.ingress)
    if (const auto address = IpAddress::parse(ingress.ip); address && address->family() == family)
      out.push_back(*address);
  return out;
}

}  // namespace kindlb::core

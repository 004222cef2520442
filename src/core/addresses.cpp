#include "kindlb/core/addresses.hpp"

namespace kindlb::core {

bool is_usable(const IpAddress& address, const AddressSpace& space) {
  return space.subnet.contains(address) && address != space.subnet.first() &&
         address != space.subnet.last() && !space.taken.contains(address);
}

std::optional<IpAddress> highest_free(const AddressSpace& space) {
  auto candidate = space.subnet.last().previous();
  while (candidate && space.subnet.contains(*candidate)) {
    if (is_usable(*candidate, space)) return candidate;
    candidate = candidate->previous();
  }
  return std::nullopt;
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

#pragma once
// Address allocation: a Service keeps the address it has, or gets a free one from the top of the
// docker network downwards (the Docker engine allocates its own from the bottom). Pure: the set of
// addresses in use is an input. The order "keep before allocate" is what makes an address survive a
// restart of kindlb and of its proxy (docs/contract.md §2: the same IP comes back).

#include "kindlb/core/ip.hpp"
#include "kindlb/core/service.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::core {

/// One subnet of a docker network, as seen by one Service.
///
/// INVARIANT: `taken` never contains an address of the Service itself, or it could not keep it.
struct AddressSpace {
  Cidr subnet;
  /// Held by the gateway, nodes, other containers and other Services, or answered for by a host
  /// that kindlb does not manage (found by duplicate address detection).
  std::set<IpAddress> taken;
  std::vector<AddressRange> pools;  ///< allocate only from these; empty: from the whole subnet

  bool operator==(const AddressSpace&) const = default;
};

/// Return whether `address` is inside the subnet, neither its first nor its last address (network
/// and broadcast address), and not taken. Pools are not considered: a Service may keep or choose an
/// address outside --ip-range.
bool is_usable(const IpAddress& address, const AddressSpace& space);

/// Explain why `address` is not usable, as the end of a sentence; empty when it is.
std::string why_not_usable(const IpAddress& address, const AddressSpace& space);

/// Return the highest usable address of the pools, or nothing when they are exhausted.
std::optional<IpAddress> highest_free(const AddressSpace& space);

/// Return the first usable address of `preferred`, else allocate one. The caller orders `preferred`
/// by authority: status, then what the proxy holds, then what was reserved in memory.
std::optional<IpAddress> choose_address(const AddressSpace& space,
                                        const std::vector<IpAddress>& preferred);

/// Name the source of addresses for messages: "172.18.0.0/16", or the pools in it.
std::string where_from(const AddressSpace& space);

/// Return the addresses of `family` in the Service's status, in order.
std::vector<IpAddress> reported_addresses(const Service& service, IpFamily family);

}  // namespace kindlb::core

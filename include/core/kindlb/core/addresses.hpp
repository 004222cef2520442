#pragma once
// Which address a Service gets: the one it has, or a free one from the top of the docker network
// downwards (the engine hands out its own from the bottom). Pure; who holds what is given.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/service.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::core {

/// One subnet of a docker network and the addresses in it that this Service must not take: the
/// gateway's, nodes', other containers', other Services', and those a stranger answered for.
struct AddressSpace {
  Cidr subnet;
  std::set<IpAddress> taken;
  std::vector<AddressRange> pools;  ///< new addresses come from here; empty: from all of the subnet

  bool operator==(const AddressSpace&) const = default;
};

/// Inside the subnet, neither its first nor its last address, and held by nobody else.
bool is_usable(const IpAddress& address, const AddressSpace& space);

/// Why it is not, for people; empty when it is.
std::string why_not_usable(const IpAddress& address, const AddressSpace& space);

/// The highest usable address of the pools.
std::optional<IpAddress> highest_free(const AddressSpace& space);

/// Keeps the first usable one of `preferred` (what status says, what the proxy holds, what was
/// reserved a moment ago), else allocates.
std::optional<IpAddress> choose_address(const AddressSpace& space,
                                        const std::vector<IpAddress>& preferred);

/// "172.18.0.0/16", or the pools in it.
std::string where_from(const AddressSpace& space);

/// The addresses of that family in a Service's status, in order.
std::vector<IpAddress> reported_addresses(const Service& service, IpFamily family);

}  // namespace kindlb::core

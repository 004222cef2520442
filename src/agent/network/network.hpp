#pragma once
// The addresses and routes of the container's network namespace, and its neighbours, as a seam: see
// netlink_network.hpp for the kernel's. Calls block, briefly. Not thread-safe.
//
// An implementation remembers what it has added and changes nothing else, so addresses and routes
// that Docker manages are safe.

#include "kindlb/core/result.hpp"
#include "network/desired_network.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

/// What has gone from the namespace although it was added.
struct NetworkLosses {
  std::vector<core::Cidr> addresses;  ///< whose interface is still there
  std::vector<core::Cidr> stranded;   ///< whose interface has gone as well
  std::vector<core::Route> routes;
  /// What keeps the rest from working, for users: "network interface eth0 is down".
  std::string problem;

  bool any() const { return !addresses.empty() || !stranded.empty() || !routes.empty(); }
  bool operator==(const NetworkLosses&) const = default;
};

class Network {
 public:
  virtual ~Network() = default;

  /// Return whether this object has added the address.
  virtual bool holds(const core::IpAddress& address) const = 0;
  /// Add what is missing; return the first failure, after all have been tried. The error's
  /// operation names the address or route. What has been added stays and counts as added by this
  /// object.
  virtual core::Result<void> add_addresses(const DesiredNetwork& desired) = 0;
  virtual core::Result<void> add_routes(const DesiredNetwork& desired) = 0;
  /// Announce addresses added since the last call to the neighbours. This empties the namespace's
  /// own neighbour table, and packets that wait for resolution are dropped: announce once for many
  /// addresses, and not while an answer is awaited. Return whether there was anything to announce.
  virtual bool announce() = 0;
  /// Remove what was added and is not desired any more, except host routes with open TCP
  /// connections: an endpoint that terminates gracefully closes them itself. Return whether such a
  /// route was kept; call again later.
  virtual bool remove_stale(const DesiredNetwork& desired) = 0;
  /// Compare what was added with what is there, and forget what is not: then it is not held any
  /// more, and can be added again.
  virtual core::Result<NetworkLosses> find_losses() = 0;

  /// Make the kernel send an ARP request or neighbour solicitation for the address. A former answer
  /// is forgotten first.
  virtual core::Result<void> solicit(const core::IpAddress& address) = 0;
  /// Return the MAC address of the neighbour that has answered for the address, if any.
  virtual std::optional<std::string> find_neighbour(const core::IpAddress& address) = 0;
};

}  // namespace kindlb::agent

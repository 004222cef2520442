#pragma once
// The addresses and routes of the container's network namespace, through rtnetlink. Needs only
// CAP_NET_ADMIN. Remembers what it added, and touches nothing else. Calls are short and blocking
// (the kernel answers at once). Not thread-safe.

#include "kindlb/base/fd.hpp"
#include "kindlb/core/result.hpp"
#include "network/netlink.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kindlb::agent {

/// What all units together want of the namespace.
struct DesiredNetwork {
  std::set<core::Cidr> addresses;
  std::map<core::Cidr, core::IpAddress> routes;  ///< destination -> gateway

  void add(const std::vector<core::Cidr>& more_addresses,
           const std::vector<core::Route>& more_routes);
};

class Network {
 public:
  static core::Result<Network> open();

  bool holds(const core::IpAddress& address) const;
  /// Adds what is missing of the desired; stops at the first refusal. The error's operation names
  /// the address or route.
  core::Result<void> add_addresses(const DesiredNetwork& desired);
  core::Result<void> add_routes(const DesiredNetwork& desired);
  /// Tells the neighbours about addresses added since the last call. It empties the namespace's own
  /// neighbour table (connections then look their peers up again), so it is done once for many.
  /// False: there was nothing to announce.
  bool announce();
  /// Removes what we added and nobody wants any more, except routes to hosts that connections still
  /// go to: an endpoint that leaves gracefully ends them itself. True: such a route was kept.
  bool remove_stale(const DesiredNetwork& desired);

  /// Makes the kernel ask who has the address. Forgets a former answer first.
  core::Result<void> solicit(const core::IpAddress& address);
  /// The neighbour that answered for the address, if one did.
  std::optional<netlink::Neighbour> find_neighbour(const core::IpAddress& address);

 private:
  explicit Network(base::Fd socket) : socket_(std::move(socket)) {}

  core::Result<std::string> request(const std::string& message, const std::string& operation);
  core::Result<unsigned> interface_for(const core::IpAddress& address);
  void announce(unsigned interface);

  base::Fd socket_;
  std::map<core::Cidr, unsigned> addresses_;      ///< ours, with their interface
  std::map<core::Cidr, core::IpAddress> routes_;  ///< ours
  std::set<unsigned> unannounced_;                ///< interfaces with new addresses
};

}  // namespace kindlb::agent

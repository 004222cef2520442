#pragma once
// The addresses and routes of the container's network namespace, through rtnetlink. Needs
// CAP_NET_ADMIN and nothing else: no raw sockets, no `ip` program in the image.
//
// It remembers what it has added and changes nothing else, so addresses and routes that Docker
// manages are safe. The memory starts empty, which is right: a namespace is created anew whenever
// the container starts, and the kernel drops what was in the old one. Calls block, briefly: the
// kernel replies at once. Not thread-safe.

#include "kindlb/base/fd.hpp"
#include "kindlb/core/result.hpp"
#include "network/netlink.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kindlb::agent {

/// What the namespace should have for all units together. Units may share addresses and routes.
struct DesiredNetwork {
  std::set<core::Cidr> addresses;
  std::map<core::Cidr, core::IpAddress> routes;  ///< destination -> gateway

  /// Add a unit's needs. Where two name different gateways for a destination, the later call wins.
  void add(const std::vector<core::Cidr>& more_addresses,
           const std::vector<core::Route>& more_routes);
};

class Network {
 public:
  /// Open the netlink socket, in the network namespace of the calling thread.
  static core::Result<Network> open();

  /// Return whether this object has added the address.
  bool holds(const core::IpAddress& address) const;
  /// Add what is missing; stop at the first failure. The error's operation names the address or
  /// route. What has been added before stays and counts as added by this object.
  core::Result<void> add_addresses(const DesiredNetwork& desired);
  core::Result<void> add_routes(const DesiredNetwork& desired);
  /// Announce addresses added since the last call to the neighbours. This empties the namespace's
  /// own neighbour table, and packets that wait for resolution are dropped: announce once for many
  /// addresses, and not while an answer is awaited. Return whether there was anything to announce.
  bool announce();
  /// Remove what was added and is not desired any more, except host routes with open TCP
  /// connections: an endpoint that terminates gracefully closes them itself. Return whether such a
  /// route was kept; call again later.
  bool remove_stale(const DesiredNetwork& desired);

  /// Make the kernel send an ARP request or neighbour solicitation for the address. A former answer
  /// is forgotten first.
  core::Result<void> solicit(const core::IpAddress& address);
  /// Return the neighbour that has answered for the address, if any.
  std::optional<netlink::Neighbour> find_neighbour(const core::IpAddress& address);

 private:
  explicit Network(base::Fd socket) : socket_(std::move(socket)) {}

  core::Result<std::string> request(const std::string& message, const std::string& operation);
  core::Result<unsigned> interface_for(const core::IpAddress& address);
  void announce(unsigned interface);

  base::Fd socket_;
  std::map<core::Cidr, unsigned> addresses_;      ///< added, with their interface
  std::map<core::Cidr, core::IpAddress> routes_;  ///< added, with their gateway
  std::set<unsigned> unannounced_;                ///< interfaces with new addresses
};

}  // namespace kindlb::agent

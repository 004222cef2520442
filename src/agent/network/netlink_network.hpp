#pragma once
// The network of the calling thread's namespace, through rtnetlink. Needs CAP_NET_ADMIN and nothing
// else: no raw sockets, no `ip` program in the image.
//
// The memory of what was added starts empty, which is right: a namespace is created anew whenever
// the container starts, and the kernel drops what was in the old one.

#include "kindlb/base/fd.hpp"
#include "network/netlink.hpp"
#include "network/network.hpp"

#include <map>
#include <set>
#include <string>

namespace kindlb::agent {

class NetlinkNetwork final : public Network {
 public:
  /// Open the netlink socket, in the network namespace of the calling thread.
  static core::Result<NetlinkNetwork> open();
  /// The port number of its socket, which notifications of its own changes carry.
  std::uint32_t port() const;

  bool holds(const core::IpAddress& address) const override;
  core::Result<void> add_addresses(const DesiredNetwork& desired) override;
  core::Result<void> add_routes(const DesiredNetwork& desired) override;
  bool announce() override;
  bool remove_stale(const DesiredNetwork& desired) override;
  core::Result<NetworkLosses> find_losses() override;
  core::Result<void> solicit(const core::IpAddress& address) override;
  std::optional<std::string> find_neighbour(const core::IpAddress& address) override;

 private:
  explicit NetlinkNetwork(base::Fd socket) : socket_(std::move(socket)) {}

  core::Result<std::string> request(const std::string& message, const std::string& operation);
  core::Result<std::string> dump(const std::string& message, const std::string& operation);
  core::Result<unsigned> interface_for(const core::IpAddress& address);
  core::Result<void> add_address(const core::Cidr& address);
  core::Result<void> add_route(const core::Route& route);
  core::Result<void> find_lost_addresses(NetworkLosses& losses);
  core::Result<void> find_lost_routes(NetworkLosses& losses);
  void announce(unsigned interface);

  base::Fd socket_;
  std::map<core::Cidr, unsigned> addresses_;      ///< added, with their interface
  std::map<core::Cidr, core::IpAddress> routes_;  ///< added, with their gateway
  std::set<unsigned> unannounced_;                ///< interfaces with new addresses
  /// Addresses that were lost, with their interface. It is taken again: when a link goes down, the
  /// container's own IPv6 address goes as well, by which the interface is otherwise known.
  std::map<core::Cidr, unsigned> former_interfaces_;
};

}  // namespace kindlb::agent

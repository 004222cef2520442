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

  bool holds(const core::IpAddress& address) const override;
  core::Result<void> add_addresses(const DesiredNetwork& desired) override;
  core::Result<void> add_routes(const DesiredNetwork& desired) override;
  bool announce() override;
  bool remove_stale(const DesiredNetwork& desired) override;
  core::Result<void> solicit(const core::IpAddress& address) override;
  std::optional<std::string> find_neighbour(const core::IpAddress& address) override;

 private:
  explicit NetlinkNetwork(base::Fd socket) : socket_(std::move(socket)) {}

  core::Result<std::string> request(const std::string& message, const std::string& operation);
  core::Result<unsigned> interface_for(const core::IpAddress& address);
  void announce(unsigned interface);

  base::Fd socket_;
  std::map<core::Cidr, unsigned> addresses_;      ///< added, with their interface
  std::map<core::Cidr, core::IpAddress> routes_;  ///< added, with their gateway
  std::set<unsigned> unannounced_;                ///< interfaces with new addresses
};

}  // namespace kindlb::agent

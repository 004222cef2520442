#include "network/netlink_network.hpp"

#include "network/connections.hpp"
#include "network/socket_address.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace kindlb::agent {
namespace {

using core::Error;
using core::ErrorKind;

constexpr std::uint16_t kDiscardPort = 9;
constexpr int kDumpTries = 5;

Error error_of(int number, const std::string& operation) {
  const auto kind = number == EPERM || number == EACCES ? ErrorKind::Denied
                    : number == EEXIST                  ? ErrorKind::Conflict
                                                        : ErrorKind::Invalid;
  return {kind, operation, std::strerror(number)};
}

}  // namespace

core::Result<NetlinkNetwork> NetlinkNetwork::open() {
  base::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const sockaddr_nl any{.nl_family = AF_NETLINK};  // the kernel chooses the port number
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0)
    return error_of(errno, "open a netlink socket");
  const timeval limit{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  return NetlinkNetwork(std::move(socket));
}

/// Send a request and collect its reply, which for a dump comes in several datagrams. The socket's
/// receive timeout bounds the wait.
core::Result<std::string> NetlinkNetwork::request(const std::string& message,
                                                  const std::string& operation) {
  if (::send(socket_.get(), message.data(), message.size(), 0) < 0)
    return error_of(errno, operation);
  std::string answer;
  std::array<char, 65536> buffer{};
  while (true) {
    const auto size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return error_of(errno, operation);
    const std::string_view part(buffer.data(), static_cast<std::size_t>(size));
    answer += part;
    const auto ack = netlink::parse_ack(part);
    if (!ack) continue;
    if (*ack != 0) return error_of(*ack, operation);
    return answer;
  }
}

std::uint32_t NetlinkNetwork::port() const {
  sockaddr_nl address{};
  socklen_t size = sizeof(address);
  ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address.nl_pid;
}

/// A list that others changed while it was read is read again.
core::Result<std::string> NetlinkNetwork::dump(const std::string& message,
                                               const std::string& operation) {
  for (int tries = 0; tries < kDumpTries; ++tries) {
    auto answer = request(message, operation);
    if (!answer || !netlink::is_interrupted(*answer)) return answer;
  }
  return Error{ErrorKind::Conflict, operation, "the list changes too quickly"};
}

bool NetlinkNetwork::holds(const core::IpAddress& address) const {
  return std::any_of(addresses_.begin(), addresses_.end(),
                     [&](const auto& entry) { return entry.first.address == address; });
}

/// Return the interface, other than loopback, that has an address on the same network.
core::Result<unsigned> NetlinkNetwork::interface_for(const core::IpAddress& address) {
  const auto links = request(netlink::dump_links(), "list network interfaces");
  if (!links) return links.error();
  const auto existing = request(netlink::dump_addresses(), "list addresses");
  if (!existing) return existing.error();
  std::set<unsigned> loopbacks;
  for (const auto& link : netlink::parse_links(*links))
    if (link.loopback) loopbacks.insert(link.interface);
  for (const auto& entry : netlink::parse_addresses(*existing))
    if (entry.prefix.contains(address) && !loopbacks.contains(entry.interface))
      return entry.interface;
  return Error{ErrorKind::NotFound, address.text(),
               "the proxy container has no interface on the network of this address"};
}

core::Result<void> NetlinkNetwork::add_addresses(const DesiredNetwork& desired) {
  core::Result<void> out;
  for (const auto& address : desired.addresses) {
    if (addresses_.contains(address)) continue;
    if (const auto added = add_address(address); !added && out) out = added;
  }
  return out;
}

core::Result<void> NetlinkNetwork::add_address(const core::Cidr& address) {
  const auto former = former_interfaces_.find(address);
  const auto interface = former != former_interfaces_.end() ? core::Result<unsigned>(former->second)
                                                            : interface_for(address.address);
  if (!interface) return interface.error();
  const auto added =
      request(netlink::add_address(*interface, address), "add address " + address.text());
  if (former != former_interfaces_.end()) former_interfaces_.erase(former);
  if (!added) return added.error();
  addresses_.emplace(address, *interface);
  unannounced_.insert(*interface);
  return {};
}

bool NetlinkNetwork::announce() {
  const auto interfaces = std::exchange(unannounced_, {});
  for (const auto interface : interfaces) announce(interface);
  return !interfaces.empty();
}

/// Neighbours may still have the MAC address of the container that had this IP address before. When
/// a link's address is set, even to the value it has, the kernel (NETDEV_CHANGEADDR) flushes the
/// link's neighbours and announces every IP address on it: by gratuitous ARP if arp_notify is on,
/// and by unsolicited neighbour advertisements if ndisc_notify is, a sysctl that kindlb sets on the
/// container. That needs no raw socket. Failure is not fatal: neighbours find out when their entry
/// becomes stale.
void NetlinkNetwork::announce(unsigned interface) {
  const auto links = request(netlink::dump_links(), "list network interfaces");
  if (!links) return;
  for (const auto& link : netlink::parse_links(*links)) {
    if (link.interface != interface || link.mac_bytes.empty()) continue;
    (void)request(netlink::enable_notify(interface), "enable announcements");
    (void)request(netlink::set_link_address(interface, link.mac_bytes), "announce addresses");
  }
}

core::Result<void> NetlinkNetwork::add_routes(const DesiredNetwork& desired) {
  core::Result<void> out;
  for (const auto& [to, via] : desired.routes)
    if (const auto added = add_route({to, via}); !added && out) out = added;
  return out;
}

core::Result<void> NetlinkNetwork::add_route(const core::Route& route) {
  const auto known = routes_.find(route.to);
  if (known != routes_.end() && known->second == route.via) return {};
  const auto added = request(netlink::add_route(route, known != routes_.end()),
                             "add route " + route.to.text() + " via " + route.via.text());
  if (!added) return added.error();
  routes_.insert_or_assign(route.to, route.via);
  return {};
}

bool NetlinkNetwork::remove_stale(const DesiredNetwork& desired) {
  bool kept = false;
  std::optional<std::set<core::IpAddress>> connected;
  std::erase_if(routes_, [&](const auto& entry) {
    if (desired.routes.contains(entry.first)) return false;
    if (!connected) connected = connected_peers();
    if (connected->contains(entry.first.address)) {
      kept = true;
      return false;
    }
    (void)request(netlink::remove_route({entry.first, entry.second}), "remove route");
    return true;
  });
  std::erase_if(addresses_, [&](const auto& entry) {
    if (desired.addresses.contains(entry.first)) return false;
    (void)request(netlink::remove_address(entry.second, entry.first), "remove address");
    return true;
  });
  return kept;
}

core::Result<NetworkLosses> NetlinkNetwork::find_losses() {
  NetworkLosses out;
  if (!addresses_.empty())
    if (const auto found = find_lost_addresses(out); !found) return found.error();
  if (!routes_.empty())
    if (const auto found = find_lost_routes(out); !found) return found.error();
  return out;
}

core::Result<void> NetlinkNetwork::find_lost_addresses(NetworkLosses& losses) {
  const auto link_list = dump(netlink::dump_links(), "list network interfaces");
  if (!link_list) return link_list.error();
  const auto address_list = dump(netlink::dump_addresses(), "list addresses");
  if (!address_list) return address_list.error();
  std::map<unsigned, netlink::Link> links;
  for (const auto& link : netlink::parse_links(*link_list)) links[link.interface] = link;
  const auto present = netlink::parse_addresses(*address_list);
  std::erase_if(addresses_, [&](const auto& entry) {
    const auto& [address, interface] = entry;
    const auto link = links.find(interface);
    if (link == links.end()) {
      losses.stranded.push_back(address);
      return true;
    }
    if (!link->second.up) losses.problem = "network interface " + link->second.name + " is down";
    if (std::ranges::find(present, netlink::InterfaceAddress{interface, address}) != present.end())
      return false;
    losses.addresses.push_back(address);
    former_interfaces_[address] = interface;
    return true;
  });
  return {};
}

core::Result<void> NetlinkNetwork::find_lost_routes(NetworkLosses& losses) {
  std::set<core::Route> present;
  for (const auto family : {core::IpFamily::V4, core::IpFamily::V6}) {
    const auto list = dump(netlink::dump_routes(family), "list routes");
    if (!list) return list.error();
    for (const auto& route : netlink::parse_routes(*list)) present.insert(route);
  }
  std::erase_if(routes_, [&](const auto& entry) {
    if (present.contains({entry.first, entry.second})) return false;
    losses.routes.push_back({entry.first, entry.second});
    return true;
  });
  return {};
}

/// An empty datagram to the discard port is enough to make the kernel resolve the address; a host
/// that gets it answers with ICMP at most.
core::Result<void> NetlinkNetwork::solicit(const core::IpAddress& address) {
  const auto interface = interface_for(address);
  if (!interface) return interface.error();
  (void)request(netlink::remove_neighbour(*interface, address), "forget neighbour");
  const int family = address.family() == core::IpFamily::V4 ? AF_INET : AF_INET6;
  const base::Fd udp(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const SocketAddress to(address, kDiscardPort);
  if (!udp || ::sendto(udp.get(), "", 0, 0, to.get(), to.size()) < 0)
    return error_of(errno, "check whether " + address.text() + " is free");
  return {};
}

std::optional<std::string> NetlinkNetwork::find_neighbour(const core::IpAddress& address) {
  const auto table = request(netlink::dump_neighbours(address.family()), "list neighbours");
  if (!table) return std::nullopt;
  for (const auto& neighbour : netlink::parse_neighbours(*table))
    if (neighbour.address == address && neighbour.is_present()) return neighbour.mac;
  return std::nullopt;
}

}  // namespace kindlb::agent

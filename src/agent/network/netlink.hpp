#pragma once
// Messages of rtnetlink(7) as bytes: building requests, reading answers. Pure, no sockets; answers
// are read with bounds checks. See network.hpp for the socket.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/proxy_config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::agent::netlink {

/// Marks our routes in the kernel's table, so that a delete can never hit somebody else's.
inline constexpr std::uint8_t kRouteProtocol = 107;

struct InterfaceAddress {
  unsigned interface = 0;
  core::Cidr prefix;

  bool operator==(const InterfaceAddress&) const = default;
};

struct Neighbour {
  unsigned interface = 0;
  core::IpAddress address;
  std::uint16_t state = 0;  ///< NUD_*
  std::string mac;          ///< "02:42:ac:12:00:02", empty while unknown

  /// Somebody answered for the address.
  bool is_present() const;
  bool operator==(const Neighbour&) const = default;
};

struct Link {
  unsigned interface = 0;
  bool loopback = false;
  std::string mac_bytes;

  bool operator==(const Link&) const = default;
};

std::string add_address(unsigned interface, const core::Cidr& address);
std::string remove_address(unsigned interface, const core::Cidr& address);
/// `replace`: the route is already ours. Otherwise an existing route makes the kernel refuse.
std::string add_route(const core::Route& route, bool replace);
std::string remove_route(const core::Route& route);
std::string remove_neighbour(unsigned interface, const core::IpAddress& address);
/// Turns on the gratuitous ARP that a change of the link's address makes (arp_notify).
std::string enable_notify(unsigned interface);
/// Sets the address the link already has: the kernel then announces every IP address on it.
std::string set_link_address(unsigned interface, std::string_view mac_bytes);
std::string dump_addresses();
std::string dump_links();
std::string dump_neighbours(core::IpFamily family);

std::vector<InterfaceAddress> parse_addresses(std::string_view answer);
std::vector<Link> parse_links(std::string_view answer);
std::vector<Neighbour> parse_neighbours(std::string_view answer);

/// The kernel's verdict in an answer: 0, an errno, or nothing while more is to come.
std::optional<int> parse_ack(std::string_view answer);

}  // namespace kindlb::agent::netlink

#pragma once
// Messages of rtnetlink(7) as bytes: builds requests, parses replies. Pure, no sockets: see
// network.hpp. Parsers check every length, skip what they do not know and return what was complete.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/proxy_config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::agent::netlink {

/// Routing protocol number of the agent's routes. A delete request carries it and so can never
/// match a route that Docker or a user has added. 107 is not assigned in rt_protos.
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

  /// Return whether a host has answered for the address: its link address is known and has not
  /// failed since.
  bool is_present() const;
  bool operator==(const Neighbour&) const = default;
};

struct Link {
  unsigned interface = 0;
  bool loopback = false;
  std::string mac_bytes;
  bool up = false;
  std::string name;

  bool operator==(const Link&) const = default;
};

/// Build the request that adds an address, as a secondary one that never becomes a source address.
std::string add_address(unsigned interface, const core::Cidr& address);
std::string remove_address(unsigned interface, const core::Cidr& address);
/// `replace`: change the gateway of a route the agent has added. Otherwise an existing route to the
/// same destination makes the kernel reply EEXIST.
std::string add_route(const core::Route& route, bool replace);
std::string remove_route(const core::Route& route);
std::string remove_neighbour(unsigned interface, const core::IpAddress& address);
/// Turn on arp_notify: gratuitous ARP whenever the link's address is set.
std::string enable_notify(unsigned interface);
/// Set the link's address. With the one it already has, the only effect is that the kernel
/// announces every IP address on the link.
std::string set_link_address(unsigned interface, std::string_view mac_bytes);
std::string dump_addresses();
std::string dump_links();
std::string dump_routes(core::IpFamily family);
std::string dump_neighbours(core::IpFamily family);

std::vector<InterfaceAddress> parse_addresses(std::string_view answer);
std::vector<Link> parse_links(std::string_view answer);
std::vector<Neighbour> parse_neighbours(std::string_view answer);
/// Return the routes that the agent has added.
std::vector<core::Route> parse_routes(std::string_view answer);

/// Return whether a notification may mean that an address, a route or a link has gone or come back.
/// What the socket with the port number `own` has changed does not count.
bool is_notable(std::string_view notification, std::uint32_t own);
/// Return whether the kernel's tables changed during the dump: it may lack what was there.
bool is_interrupted(std::string_view answer);

/// Return what ends a reply: 0 for an ACK or the end of a dump, an errno for an error, nothing
/// while more is to come.
std::optional<int> parse_ack(std::string_view answer);

}  // namespace kindlb::agent::netlink

#include "network/netlink.hpp"

#include "network/netlink_message.hpp"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace kindlb::agent::netlink {
namespace {

constexpr std::uint32_t kForever = 0xFFFFFFFF;

unsigned char family_of(const core::IpAddress& address) {
  return address.family() == core::IpFamily::V4 ? AF_INET : AF_INET6;
}

ifaddrmsg address_header(unsigned interface, const core::Cidr& address) {
  ifaddrmsg header{};
  header.ifa_family = family_of(address.address);
  header.ifa_prefixlen = static_cast<unsigned char>(address.length);
  header.ifa_scope = RT_SCOPE_UNIVERSE;
  header.ifa_index = interface;
  return header;
}

rtmsg route_header(const core::Route& route) {
  rtmsg header{};
  header.rtm_family = family_of(route.to.address);
  header.rtm_dst_len = static_cast<unsigned char>(route.to.length);
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = kRouteProtocol;
  header.rtm_scope = RT_SCOPE_UNIVERSE;
  header.rtm_type = RTN_UNICAST;
  return header;
}

ifinfomsg link_header(unsigned interface) {
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = static_cast<int>(interface);
  return header;
}

}  // namespace

std::string add_address(unsigned interface, const core::Cidr& address) {
  const bool v6 = address.address.family() == core::IpFamily::V6;
  // Envoy's own connections to endpoints must keep the container's address as their source. Without
  // a prefix route an IPv4 address is not selected; an IPv6 address must be deprecated as well
  // (preferred lifetime 0, RFC 6724 rule 3). Duplicate address detection is done by AddressChecks,
  // before the address is added: the kernel's would delay its use by a second.
  const std::uint32_t flags = IFA_F_NOPREFIXROUTE | (v6 ? unsigned{IFA_F_NODAD} : 0U);
  Request request(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
                  address_header(interface, address));
  request.attribute(IFA_LOCAL, raw(address.address)).attribute(IFA_ADDRESS, raw(address.address));
  request.value(IFA_FLAGS, flags);
  if (v6)
    request.value(
        IFA_CACHEINFO,
        ifa_cacheinfo{.ifa_prefered = 0, .ifa_valid = kForever, .cstamp = 0, .tstamp = 0});
  return std::move(request).bytes();
}

std::string remove_address(unsigned interface, const core::Cidr& address) {
  Request request(RTM_DELADDR, NLM_F_ACK, address_header(interface, address));
  request.attribute(IFA_LOCAL, raw(address.address)).attribute(IFA_ADDRESS, raw(address.address));
  return std::move(request).bytes();
}

std::string add_route(const core::Route& route, bool replace) {
  const unsigned flags = NLM_F_ACK | NLM_F_CREATE | (replace ? NLM_F_REPLACE : NLM_F_EXCL);
  Request request(RTM_NEWROUTE, flags, route_header(route));
  const auto network = route.to.first();  // the kernel rejects a destination with host bits
  request.attribute(RTA_DST, raw(network)).attribute(RTA_GATEWAY, raw(route.via));
  return std::move(request).bytes();
}

std::string remove_route(const core::Route& route) {
  Request request(RTM_DELROUTE, NLM_F_ACK, route_header(route));
  const auto network = route.to.first();
  request.attribute(RTA_DST, raw(network)).attribute(RTA_GATEWAY, raw(route.via));
  return std::move(request).bytes();
}

std::string remove_neighbour(unsigned interface, const core::IpAddress& address) {
  ndmsg header{};
  header.ndm_family = family_of(address);
  header.ndm_ifindex = static_cast<int>(interface);
  Request request(RTM_DELNEIGH, NLM_F_ACK, header);
  request.attribute(NDA_DST, raw(address));
  return std::move(request).bytes();
}

std::string enable_notify(unsigned interface) {
  const std::uint32_t on = 1;
  const std::string_view value(reinterpret_cast<const char*>(&on), sizeof(on));
  const auto conf = nested(IFLA_INET_CONF, nested(IPV4_DEVCONF_ARP_NOTIFY, value));
  Request request(RTM_SETLINK, NLM_F_ACK, link_header(interface));
  request.attribute(IFLA_AF_SPEC, nested(AF_INET, conf));
  return std::move(request).bytes();
}

std::string set_link_address(unsigned interface, std::string_view mac_bytes) {
  Request request(RTM_SETLINK, NLM_F_ACK, link_header(interface));
  request.attribute(IFLA_ADDRESS, mac_bytes);
  return std::move(request).bytes();
}

std::string dump_addresses() {
  return Request(RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{}).bytes();
}

std::string dump_links() {
  return Request(RTM_GETLINK, NLM_F_DUMP, link_header(0)).bytes();
}

std::string dump_routes(core::IpFamily family) {
  rtmsg header{};
  header.rtm_family = family == core::IpFamily::V4 ? AF_INET : AF_INET6;
  return Request(RTM_GETROUTE, NLM_F_DUMP, header).bytes();
}

std::string dump_neighbours(core::IpFamily family) {
  ndmsg header{};
  header.ndm_family = family == core::IpFamily::V4 ? AF_INET : AF_INET6;
  return Request(RTM_GETNEIGH, NLM_F_DUMP, header).bytes();
}

}  // namespace kindlb::agent::netlink

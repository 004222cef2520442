// Replies of rtnetlink(7).
#include "kindlb/base/number.hpp"
#include "network/netlink.hpp"
#include "network/netlink_message.hpp"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace kindlb::agent::netlink {
namespace {

constexpr unsigned kAnswered = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;

/// Collect from every message of `type` what `read` returns for its header and attributes.
template <typename Header, typename Out, typename Read>
std::vector<Out> collect(std::string_view answer, std::uint16_t type, Read read) {
  std::vector<Out> out;
  each_message(answer, [&](const nlmsghdr& head, std::string_view payload) {
    if (head.nlmsg_type != type) return;
    const auto header = take<Header>(payload);
    if (!header) return;
    if (auto item = read(*header, payload)) out.push_back(std::move(*item));
  });
  return out;
}

std::optional<core::IpAddress> read_ip(int family, std::string_view value) {
  const bool v4 = family == AF_INET;
  if ((!v4 && family != AF_INET6) || value.size() != (v4 ? 4U : 16U)) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), value.data(), value.size());
  return core::IpAddress::from_bytes(v4 ? core::IpFamily::V4 : core::IpFamily::V6, bytes);
}

std::string mac_text(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (!out.empty()) out += ':';
    base::append_hex(out, c);
  }
  return out;
}

}  // namespace

bool Neighbour::is_present() const {
  return (state & kAnswered) != 0 && !mac.empty();
}

std::vector<InterfaceAddress> parse_addresses(std::string_view answer) {
  return collect<ifaddrmsg, InterfaceAddress>(
      answer, RTM_NEWADDR, [](const ifaddrmsg& head, std::string_view attributes) {
        std::optional<core::IpAddress> local;
        std::optional<core::IpAddress> peer;
        each_attribute(attributes, [&](unsigned type, std::string_view value) {
          if (type == IFA_LOCAL) local = read_ip(head.ifa_family, value);
          if (type == IFA_ADDRESS) peer = read_ip(head.ifa_family, value);
        });
        if (!local) local = peer;  // IPv6 has only IFA_ADDRESS
        std::optional<InterfaceAddress> out;
        if (local && head.ifa_prefixlen <= local->bits())
          out = InterfaceAddress{head.ifa_index, {*local, head.ifa_prefixlen}};
        return out;
      });
}

std::vector<Link> parse_links(std::string_view answer) {
  return collect<ifinfomsg, Link>(
      answer, RTM_NEWLINK, [](const ifinfomsg& head, std::string_view attributes) {
        Link link{static_cast<unsigned>(head.ifi_index),
                  (head.ifi_flags & IFF_LOOPBACK) != 0,
                  {},
                  (head.ifi_flags & IFF_UP) != 0,
                  {}};
        each_attribute(attributes, [&](unsigned type, std::string_view value) {
          if (type == IFLA_ADDRESS) link.mac_bytes = value;
          if (type == IFLA_IFNAME) link.name = value.substr(0, value.find('\0'));
        });
        return std::optional(link);
      });
}

std::vector<Neighbour> parse_neighbours(std::string_view answer) {
  return collect<ndmsg, Neighbour>(
      answer, RTM_NEWNEIGH, [](const ndmsg& head, std::string_view attributes) {
        Neighbour out{static_cast<unsigned>(head.ndm_ifindex), {}, head.ndm_state, {}};
        std::optional<core::IpAddress> address;
        each_attribute(attributes, [&](unsigned type, std::string_view value) {
          if (type == NDA_DST) address = read_ip(head.ndm_family, value);
          if (type == NDA_LLADDR) out.mac = mac_text(value);
        });
        if (address) out.address = *address;
        return address ? std::optional(out) : std::nullopt;
      });
}

std::vector<core::Route> parse_routes(std::string_view answer) {
  return collect<rtmsg, core::Route>(
      answer, RTM_NEWROUTE, [](const rtmsg& head, std::string_view attributes) {
        std::optional<core::IpAddress> to;
        std::optional<core::IpAddress> via;
        each_attribute(attributes, [&](unsigned type, std::string_view value) {
          if (type == RTA_DST) to = read_ip(head.rtm_family, value);
          if (type == RTA_GATEWAY) via = read_ip(head.rtm_family, value);
        });
        std::optional<core::Route> out;
        if (to && via && head.rtm_protocol == kRouteProtocol && head.rtm_dst_len <= to->bits())
          out = core::Route{{*to, head.rtm_dst_len}, *via};
        return out;
      });
}

/// A new route is of interest only if it has taken the place of another.
bool is_notable(std::string_view notification, std::uint32_t own) {
  bool notable = false;
  each_message(notification, [&](const nlmsghdr& head, std::string_view) {
    const auto type = head.nlmsg_type;
    const bool kind = type == RTM_DELADDR || type == RTM_NEWADDR || type == RTM_DELROUTE ||
                      type == RTM_NEWLINK || type == RTM_DELLINK ||
                      (type == RTM_NEWROUTE && (head.nlmsg_flags & NLM_F_REPLACE) != 0);
    if (kind && head.nlmsg_pid != own) notable = true;
  });
  return notable;
}

bool is_interrupted(std::string_view answer) {
  bool interrupted = false;
  each_message(answer, [&](const nlmsghdr& head, std::string_view) {
    if ((head.nlmsg_flags & NLM_F_DUMP_INTR) != 0) interrupted = true;
  });
  return interrupted;
}

std::optional<int> parse_ack(std::string_view answer) {
  std::optional<int> ack;
  each_message(answer, [&](const nlmsghdr& head, std::string_view payload) {
    if (head.nlmsg_type == NLMSG_DONE) ack = 0;
    if (head.nlmsg_type != NLMSG_ERROR) return;
    const auto error = take<int>(payload);
    ack = error ? -*error : EPROTO;
  });
  return ack;
}

}  // namespace kindlb::agent::netlink

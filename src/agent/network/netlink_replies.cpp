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

template <typename T>
std::optional<T> take(std::string_view& from) {
  if (from.size() < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, from.data(), sizeof(T));
  from.remove_prefix(std::min(aligned(sizeof(T)), from.size()));
  return out;
}

/// Call visit(header, payload) for each complete message.
template <typename Visit>
void each_message(std::string_view answer, Visit visit) {
  while (answer.size() >= sizeof(nlmsghdr)) {
    std::string_view rest = answer;
    const auto header = *take<nlmsghdr>(rest);
    if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > answer.size()) return;
    visit(header,
          answer.substr(aligned(sizeof(nlmsghdr)), header.nlmsg_len - aligned(sizeof(nlmsghdr))));
    answer.remove_prefix(std::min(aligned(header.nlmsg_len), answer.size()));
  }
}

template <typename Visit>
void each_attribute(std::string_view attributes, Visit visit) {
  while (attributes.size() >= sizeof(rtattr)) {
    std::string_view rest = attributes;
    const auto head = *take<rtattr>(rest);
    if (head.rta_len < sizeof(rtattr) || head.rta_len > attributes.size()) return;
    visit(head.rta_type, attributes.substr(sizeof(rtattr), head.rta_len - sizeof(rtattr)));
    attributes.remove_prefix(std::min(aligned(head.rta_len), attributes.size()));
  }
}

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
        Link link{static_cast<unsigned>(head.ifi_index), (head.ifi_flags & IFF_LOOPBACK) != 0, {}};
        each_attribute(attributes, [&](unsigned type, std::string_view value) {
          if (type == IFLA_ADDRESS) link.mac_bytes = value;
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

#include "network/packet_filter.hpp"

#include "kindlb/base/fd.hpp"
#include "network/netlink.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kindlb::agent {
namespace {

using core::Error;
using core::ErrorKind;
using core::IpFamily;

/// For a thousand ranges and more.
constexpr int kSendBuffer = 16 << 20;

Error error_of(int number) {
  const auto kind = number == EPERM ? ErrorKind::Denied : ErrorKind::Invalid;
  return {kind, "set the rules for datagrams", std::strerror(number)};
}

/// One socket per batch: what is left unread of a refused one must not answer for the next.
core::Result<void> send(const std::string& batch) {
  const base::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!socket) return error_of(errno);
  const timeval limit{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof(kSendBuffer));
  if (::send(socket.get(), batch.data(), batch.size(), 0) < 0) return error_of(errno);
  std::array<char, 8192> buffer{};
  while (true) {
    const auto size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return error_of(errno);
    const auto ack = netlink::parse_ack({buffer.data(), static_cast<std::size_t>(size)});
    if (!ack) continue;
    if (*ack != 0) return error_of(*ack);
    return {};
  }
}

bool concerns(const nftables::Rules& rules, IpFamily family) {
  const auto of_family = [family](const core::UdpRule& gate) {
    return gate.at.address.family() == family;
  };
  return std::ranges::any_of(rules.udp_rules, of_family) ||
         std::ranges::any_of(rules.idle, of_family);
}

/// Tried with every word that rules have, for an address that nothing is sent to.
bool can_do(IpFamily family) {
  core::UdpRule gate;
  gate.at = {core::IpAddress::from_bytes(family, {}), 1};
  gate.restricted = true;
  gate.allowed = {core::Cidr::host(gate.at.address)};
  gate.divert = 2;
  return send(nftables::replace_rules(family, {{gate}, {}})).ok() &&
         send(nftables::replace_rules(family, {})).ok();
}

}  // namespace

PacketFilter::PacketFilter()
    : works_(can_do(IpFamily::V4) && can_do(IpFamily::V6)), rules_(nftables::Rules()) {}

core::Result<void> PacketFilter::set(const nftables::Rules& rules) {
  if (!works_ || rules == rules_) return {};
  const auto known = std::exchange(rules_, std::nullopt);
  for (const auto family : {IpFamily::V4, IpFamily::V6}) {
    if (known && !concerns(*known, family) && !concerns(rules, family)) continue;
    if (const auto sent = send(nftables::replace_rules(family, rules)); !sent) return sent.error();
  }
  rules_ = rules;
  return {};
}

}  // namespace kindlb::agent

#include "udp/nftables_filter.hpp"

#include "kindlb/base/fd.hpp"
#include "network/netlink.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kindlb::agent {
namespace {

using core::Error;
using core::ErrorKind;
using core::IpFamily;

/// A batch is sent as one datagram, and a thousand source ranges exceed the default buffer.
constexpr int kSendBuffer = 16 << 20;

Error error_of(int number) {
  const auto kind = number == EPERM ? ErrorKind::Denied : ErrorKind::Invalid;
  return {kind, "install nf_tables rules for UDP", std::strerror(number)};
}

/// Return the reply, up to and with the ACK. A socket per batch: replies to a refused one that were
/// not read must not be taken for the next.
core::Result<std::string> send(const std::string& batch) {
  const base::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!socket) return error_of(errno);
  const timeval limit{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof(kSendBuffer));
  if (::send(socket.get(), batch.data(), batch.size(), 0) < 0) return error_of(errno);
  std::string reply;
  std::array<char, 8192> buffer{};
  while (true) {
    const auto size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return error_of(errno);
    reply.append(buffer.data(), static_cast<std::size_t>(size));
    const auto ack = netlink::parse_ack({buffer.data(), static_cast<std::size_t>(size)});
    if (!ack) continue;
    if (*ack != 0) return error_of(*ack);
    return reply;
  }
}

std::optional<std::uint32_t> current_generation() {
  const auto reply = send(nftables::ask_generation());
  return reply ? nftables::parse_generation(*reply) : std::nullopt;
}

/// Install and remove a rule with every kind of expression, for the unspecified address.
bool probe_kernel(IpFamily family) {
  core::UdpRule rule;
  rule.at = {core::IpAddress::from_bytes(family, {}), 1};
  rule.restricted = true;
  rule.allowed = {core::Cidr::host(rule.at.address)};
  rule.divert = 2;
  return send(nftables::replace_rules(family, {{rule}, {}})).ok() &&
         send(nftables::replace_rules(family, {})).ok();
}

}  // namespace

NftablesFilter::NftablesFilter()
    : supported_(probe_kernel(IpFamily::V4) && probe_kernel(IpFamily::V6)),
      rules_(nftables::Rules()) {}

core::Result<void> NftablesFilter::set(const nftables::Rules& rules) {
  if (!supported_ || rules == rules_) return {};
  const auto known = std::exchange(rules_, std::nullopt);
  for (const auto family : {IpFamily::V4, IpFamily::V6}) {
    if (known && !nftables::has_rules(family, *known) && !nftables::has_rules(family, rules))
      continue;
    if (const auto sent = send(nftables::replace_rules(family, rules)); !sent) return sent.error();
  }
  rules_ = rules;
  generation_ = current_generation();
  return {};
}

bool NftablesFilter::find_changes() {
  if (!supported_ || (rules_ && *rules_ == nftables::Rules())) return false;
  if (rules_ && generation_ && current_generation() == generation_) return false;
  rules_.reset();
  return true;
}

}  // namespace kindlb::agent

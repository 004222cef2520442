#pragma once
// UDP rules as nf_tables messages. Pure, no sockets: see nftables_filter.hpp. Why there are rules
// at all, and in which order they and Envoy's listeners change, is in udp_rules.hpp.
//
// There is one table per family, with an input and an output chain and one chain per rule:
//   input   to AT: jump to the rule's chain, which accepts, redirects or drops by source address
//           to a redirect port, from outside: drop
//   output  from a redirect port: rewrite the source port to that of AT
// Redirection rewrites the port in the packet ("payload" expressions) and uses neither NAT nor
// conntrack, so it holds for the next datagram of any flow and leaves no state behind.

#include "kindlb/core/proxy_config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::agent::nftables {

struct Rules {
  std::vector<core::UdpRule> active;
  /// Rules whose redirection is not in force while the listener on the redirect port may be open:
  /// not yet committed, draining or quarantined. The redirect port is blocked from outside, and
  /// what is sent from it appears to come from `at`.
  std::vector<core::UdpRule> idle;

  bool operator==(const Rules&) const = default;
};

/// Return whether any of the rules, active or idle, is for that family.
bool has_rules(core::IpFamily family, const Rules& rules);

/// Return a batch that replaces all rules of one family; without rules for it, there is no table.
/// The kernel applies a batch as one transaction: every packet sees the old rules or the new ones.
/// It replies once: an ACK for the last message, or an error for the first one it refuses.
std::string replace_rules(core::IpFamily family, const Rules& rules);

/// Ask how often the rules of this namespace have been changed, by whomever.
std::string ask_generation();
std::optional<std::uint32_t> parse_generation(std::string_view answer);

}  // namespace kindlb::agent::nftables

#pragma once
// The rules for gates as messages of nf_tables. Pure, no sockets: see packet_filter.hpp.

#include "kindlb/core/proxy_config.hpp"

#include <string>
#include <vector>

namespace kindlb::agent::nftables {

struct Rules {
  std::vector<core::UdpRule> active;
  /// Those whose diverting is not in force while its listener may be open: it is not there yet, or
  /// has answers to give. Nobody reaches it, and what it sends comes from `at`.
  std::vector<core::UdpRule> idle;

  bool operator==(const Rules&) const = default;
};

/// Return whether any of the rules, active or idle, is for that family.
bool has_rules(core::IpFamily family, const Rules& rules);

/// Puts the rules of one family in the place of those there were. Without any there is no table.
/// The messages are taken or refused together: the last is acknowledged, or one that is refused
/// named.
std::string replace_rules(core::IpFamily family, const Rules& rules);

}  // namespace kindlb::agent::nftables

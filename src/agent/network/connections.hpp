#pragma once
// Whom this network namespace has TCP connections with, as the kernel lists them in /proc/net/tcp
// and tcp6: what must not lose its route although nobody new is sent there.

#include "kindlb/core/ip.hpp"

#include <set>
#include <string_view>

namespace kindlb::agent {

/// The remote addresses in one such list. Connections that are over do not count; IPv4 in an IPv6
/// socket counts as IPv4. Lines that make no sense are skipped.
std::set<core::IpAddress> parse_connections(std::string_view text);

/// Both lists of this namespace; empty where there are none.
std::set<core::IpAddress> connected_peers();

}  // namespace kindlb::agent

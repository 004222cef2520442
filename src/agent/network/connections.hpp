#pragma once
// The remote addresses of this network namespace's TCP connections, from /proc/net/tcp and tcp6. A
// route to one of them must not be removed although no unit needs it any more: an endpoint that
// terminates gracefully still has its connections.

#include "kindlb/core/ip.hpp"

#include <set>
#include <string_view>

namespace kindlb::agent {

/// Parse one such list. Listening and closed sockets do not count; an IPv4-mapped address counts as
/// IPv4. Lines that cannot be parsed are skipped.
std::set<core::IpAddress> parse_connections(std::string_view text);

/// Read both lists of this namespace. A list that cannot be read counts as empty.
std::set<core::IpAddress> connected_peers();

}  // namespace kindlb::agent

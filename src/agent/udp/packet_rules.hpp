#pragma once
// Which UDP rules must be in force at one moment. Pure; udp_rules.hpp says why there are rules and
// in which order they and Envoy's listeners change.

#include "kindlb/protocol/protocol.hpp"
#include "udp/nftables.hpp"

#include <vector>

namespace kindlb::agent {

struct WantedUnits;

/// Return whether both redirect the same port to the same port.
bool same_redirect(const core::UdpRule& rule, const core::UdpRule& other);

/// Return the rules of `former` whose redirection `next` does not continue.
std::vector<core::UdpRule> redirects_removed(const protocol::Unit& former,
                                             const protocol::Unit& next);

/// Return the rules that must be in force, given all units, the rules of draining listeners and
/// those in quarantine. Computed from scratch each time and installed as a whole, so no path can
/// forget to undo a step.
nftables::Rules packet_rules(const WantedUnits& wanted, const std::vector<core::UdpRule>& draining,
                             const std::vector<core::UdpRule>& quarantined);

}  // namespace kindlb::agent

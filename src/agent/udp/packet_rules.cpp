#include "udp/packet_rules.hpp"

#include "wanted_units.hpp"

#include <algorithm>
#include <map>

namespace kindlb::agent {

namespace {

bool holds_redirect(const std::vector<core::UdpRule>& rules, const core::UdpRule& wanted) {
  return std::ranges::any_of(
      rules, [&](const core::UdpRule& rule) { return same_redirect(rule, wanted); });
}

/// Collects the rules of committed units, then what requests under way change about them. There is
/// one active rule per port; later calls for the same port change the earlier rule, so the order of
/// calls is part of the result.
class RuleSetBuilder {
 public:
  /// The rule as committed, redirection included.
  void install(const core::UdpRule& rule) { active_[rule.at] = rule; }
  /// Filter by the ranges of a rule that is about to be committed, without its redirection: ranges
  /// must hold before the listener opens, a redirection only after.
  void set_ranges(const core::UdpRule& rule) {
    auto& active = active_[rule.at];
    active.at = rule.at;
    active.restricted = rule.restricted;
    active.allowed = rule.allowed;
  }
  /// Keep the port filtered as it was, unless a live rule filters it, and its redirect port
  /// blocked.
  void block(const core::UdpRule& rule) {
    if (!active_.contains(rule.at)) set_ranges(rule);
    idle_.push_back(rule);
  }
  /// Block the redirect port from outside and rewrite what is sent from it.
  void idle(const core::UdpRule& rule) { idle_.push_back(rule); }
  /// Deliver to the port itself; the former redirect port is idle.
  void stop_redirecting(const core::UdpRule& rule) {
    active_[rule.at].divert = 0;
    idle_.push_back(rule);
  }

  nftables::Rules rules() const {
    nftables::Rules out;
    for (const auto& [at, rule] : active_)
      if (rule.restricted || rule.divert != 0) out.active.push_back(rule);
    for (const auto& rule : idle_)
      if (rule.divert != 0 && !holds_redirect(out.active, rule) && !holds_redirect(out.idle, rule))
        out.idle.push_back(rule);
    return out;
  }

 private:
  std::map<core::Target, core::UdpRule> active_;
  std::vector<core::UdpRule> idle_;
};

const CommittedUnit* predecessor_of(const protocol::Unit& unit, const WantedUnits& wanted) {
  const auto found = std::ranges::find_if(
      wanted.committed, [&](const CommittedUnit* other) { return other->unit.unit == unit.unit; });
  return found == wanted.committed.end() ? nullptr : *found;
}

}  // namespace

bool same_redirect(const core::UdpRule& rule, const core::UdpRule& other) {
  return rule.at == other.at && rule.divert == other.divert;
}

std::vector<core::UdpRule> redirects_removed(const protocol::Unit& former,
                                             const protocol::Unit& next) {
  std::vector<core::UdpRule> out;
  for (const auto& rule : former.udp_rules)
    if (rule.divert != 0 && !holds_redirect(next.udp_rules, rule)) out.push_back(rule);
  return out;
}

nftables::Rules packet_rules(const WantedUnits& wanted, const std::vector<core::UdpRule>& draining,
                             const std::vector<core::UdpRule>& quarantined) {
  RuleSetBuilder builder;
  for (const auto* committed : wanted.committed)
    for (const auto& rule : committed->unit.udp_rules) builder.install(rule);
  for (const auto& rule : quarantined) builder.block(rule);
  for (const auto& rule : draining) builder.idle(rule);
  for (const auto* request : wanted.requested) {
    for (const auto& rule : request->unit.udp_rules) builder.set_ranges(rule);
    if (request->stage != Request::Stage::Applying) continue;
    for (const auto& rule : request->unit.udp_rules) builder.idle(rule);
    const auto* committed = predecessor_of(request->unit, wanted);
    if (committed == nullptr) continue;
    // A redirection that ends without draining: its port was needed (UdpRules::free_ports_for), so
    // its listener is about to be replaced and must not get more datagrams.
    for (const auto& rule : redirects_removed(committed->unit, request->unit))
      if (!holds_redirect(draining, rule)) builder.stop_redirecting(rule);
  }
  return builder.rules();
}

}  // namespace kindlb::agent

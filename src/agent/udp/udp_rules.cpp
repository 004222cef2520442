#include "udp/udp_rules.hpp"

#include "udp/packet_rules.hpp"
#include "wanted_units.hpp"

#include <utility>

namespace kindlb::agent {

namespace {

/// Return the listener that the rule redirects to, with its cluster and endpoints.
XdsSnapshot resources_behind(const core::UdpRule& rule, const protocol::Unit& unit) {
  XdsSnapshot out;
  for (const auto& listener : unit.listeners)
    if (listener.name == rule.listener) out.listeners[listener.name] = listener.body;
  for (const auto& cluster : unit.clusters)
    if (cluster.name == rule.cluster) out.clusters[cluster.name] = cluster.body;
  for (const auto& endpoints : unit.assignments)
    if (endpoints.cluster == rule.cluster)
      out.endpoints[endpoints.file] = {endpoints.cluster, endpoints.body};
  return out;
}

}  // namespace

core::Result<void> UdpRules::install(const WantedUnits& wanted) {
  std::vector<core::UdpRule> draining;
  for (const auto& entry : draining_) draining.push_back(entry.rule);
  return filter_.set(packet_rules(wanted, draining, quarantined_));
}

void UdpRules::start_draining(const protocol::Unit& former, const protocol::Unit& next) {
  if (!is_supported()) return;
  for (const auto& rule : redirects_removed(former, next)) {
    std::erase_if(draining_,
                  [&](const DrainingListener& entry) { return same_redirect(entry.rule, rule); });
    draining_.push_back({rule, resources_behind(rule, former)});
  }
  schedule_drain_end(former, next);
}

void UdpRules::schedule_drain_end(const protocol::Unit& former, const protocol::Unit& next) {
  if (!is_supported() || redirects_removed(former, next).empty()) return;
  loop_.cancel(drain_timer_);
  drain_timer_ = loop_.after(kDrainTime, [this] { drained_(); });
}

void UdpRules::postpone_drain_end() {
  loop_.cancel(drain_timer_);
  drain_timer_ = loop_.after(kDrainRetry, [this] { drained_(); });
}

void UdpRules::end_draining() {
  for (auto& listener : std::exchange(draining_, {})) {
    // Another rule filters the port; only the redirect port closes.
    listener.rule.restricted = false;
    quarantine(std::move(listener.rule));
  }
}

XdsSnapshot UdpRules::with_draining(XdsSnapshot snapshot) const {
  for (const auto& [rule, resources] : draining_) {
    snapshot.listeners.insert(resources.listeners.begin(), resources.listeners.end());
    snapshot.clusters.insert(resources.clusters.begin(), resources.clusters.end());
    snapshot.endpoints.insert(resources.endpoints.begin(), resources.endpoints.end());
  }
  return snapshot;
}

void UdpRules::quarantine(core::UdpRule rule) {
  std::erase_if(quarantined_,
                [&](const core::UdpRule& other) { return same_redirect(rule, other); });
  quarantined_.push_back(std::move(rule));
}

void UdpRules::quarantine(const protocol::Unit& refused, const protocol::Unit* committed) {
  for (const auto& rule : refused.udp_rules) quarantine(rule);
  if (committed != nullptr) free_ports_for(*committed);
}

void UdpRules::free_ports_for(const protocol::Unit& unit) {
  if (draining_.empty() && quarantined_.empty()) return;
  for (const auto& listener : unit.listeners) {
    const auto place = udp_socket_of(listener.body);
    const auto holds_port = [&](const core::UdpRule& rule) {
      return place == core::Target{rule.at.address, rule.divert} && rule.listener != listener.name;
    };
    std::erase_if(draining_, [&](const DrainingListener& entry) { return holds_port(entry.rule); });
    std::erase_if(quarantined_, holds_port);
  }
}

bool UdpRules::lift_filters() {
  if (quarantined_.empty()) return false;
  std::erase_if(quarantined_, [](const core::UdpRule& rule) { return rule.divert == 0; });
  for (auto& rule : quarantined_) rule.restricted = false;
  return true;
}

void UdpRules::forget_addresses(const protocol::Unit& released) {
  for (const auto& [address, length] : released.addresses) {
    std::erase_if(quarantined_, [&](const auto& rule) { return rule.at.address == address; });
    std::erase_if(draining_, [&](const auto& entry) { return entry.rule.at.address == address; });
  }
}

void UdpRules::forget() {
  loop_.cancel(drain_timer_);
  draining_.clear();
  quarantined_.clear();
}

}  // namespace kindlb::agent

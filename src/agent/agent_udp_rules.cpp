// The agent's gates: rules of the kernel for UDP ports, and the listeners behind them.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::agent {

namespace {

/// For how long a listener that gets no more datagrams may still answer those it has.
constexpr std::chrono::seconds kDrainTime{2};
constexpr std::chrono::milliseconds kDrainRetry{100};

std::vector<core::UdpRule> redirects_removed(const protocol::Unit& former, const protocol::Unit& next) {
  std::vector<core::UdpRule> out;
  for (const auto& rule : former.udp_rules) {
    const bool goes_on = std::ranges::any_of(next.udp_rules, [&](const core::UdpRule& other) {
      return other.at == rule.at && other.divert == rule.divert;
    });
    if (rule.divert != 0 && !goes_on) out.push_back(rule);
  }
  return out;
}

bool same_redirect(const core::UdpRule& rule, const core::UdpRule& other) {
  return rule.at == other.at && rule.divert == other.divert;
}

/// The listener, its cluster and endpoints.
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

/// Rules in the making.
class RuleSetBuilder {
 public:
  void install(const core::UdpRule& rule) { active_[rule.at] = rule; }
  /// Who is admitted changes at once; where it goes does not.
  void set_ranges(const core::UdpRule& rule) {
    auto& active = active_[rule.at];
    active.at = rule.at;
    active.restricted = rule.restricted;
    active.allowed = rule.allowed;
  }
  void block(const core::UdpRule& rule) {
    if (!active_.contains(rule.at)) set_ranges(rule);
    idle_.push_back(rule);
  }
  void idle(const core::UdpRule& rule) { idle_.push_back(rule); }
  void stop_redirecting(const core::UdpRule& rule) {
    active_[rule.at].divert = 0;
    idle_.push_back(rule);
  }

  nftables::Rules rules() const {
    nftables::Rules out;
    for (const auto& [at, rule] : active_)
      if (rule.restricted || rule.divert != 0) out.active.push_back(rule);
    for (const auto& rule : idle_) {
      const auto same = [&](const core::UdpRule& other) { return same_redirect(rule, other); };
      if (rule.divert != 0 && std::ranges::none_of(out.active, same) &&
          std::ranges::none_of(out.idle, same))
        out.idle.push_back(rule);
    }
    return out;
  }

 private:
  std::map<core::Target, core::UdpRule> active_;
  std::vector<core::UdpRule> idle_;
};

}  // namespace

/// A port that is to be opened is guarded before it is, until it is closed; what is diverted must
/// be open already.
nftables::Rules Agent::packet_rules() const {
  RuleSetBuilder builder;
  for (const auto& [name, committed] : units_)
    if (!committed.suspended)
      for (const auto& rule : committed.unit.udp_rules) builder.install(rule);
  for (const auto& rule : quarantined_) builder.block(rule);
  for (const auto& listener : draining_) builder.idle(listener.rule);
  for (const auto& [key, request] : requests_) {
    if (request.stage == Request::Stage::Checking || request.stage == Request::Stage::Probing)
      continue;
    for (const auto& rule : request.unit.udp_rules) builder.set_ranges(rule);
    if (request.stage != Request::Stage::Applying || request.is_release) continue;
    for (const auto& rule : request.unit.udp_rules) builder.idle(rule);
    const auto committed = units_.find(request.unit.unit);
    if (committed == units_.end() || committed->second.suspended) continue;
    // Another listener takes the port.
    for (const auto& rule : redirects_removed(committed->second.unit, request.unit))
      if (!is_draining(rule)) builder.stop_redirecting(rule);
  }
  return builder.rules();
}

/// Before Envoy starts: what nobody guards is not opened.
void Agent::install_stored_rules() {
  const auto set = filter_.set(packet_rules());
  if (set) return;
  for (auto& [name, committed] : units_) {
    if (committed.suspended || committed.unit.udp_rules.empty()) continue;
    committed.suspended = true;
    log("not serving " + committed.unit.owner + ": " + set.error().text());
  }
}

/// A unit as Envoy is to be told, from what kindlb said, and back.
protocol::Unit Agent::swap_listener_variants(protocol::Unit unit) const {
  if (filter_.is_supported() && !unit.udp_rules.empty())
    std::swap(unit.listeners, unit.listeners_behind_rules);
  return unit;
}

bool Agent::is_draining(const core::UdpRule& rule) const {
  return std::ranges::any_of(
      draining_, [&](const DrainingListener& entry) { return same_redirect(entry.rule, rule); });
}

/// Before Envoy is told to take them away.
void Agent::start_draining(const Request& next) {
  const auto committed = units_.find(next.unit.unit);
  if (next.is_release || !filter_.is_supported() || committed == units_.end() ||
      committed->second.suspended)
    return;
  const auto& former = committed->second.unit;
  for (const auto& rule : redirects_removed(former, next.unit)) {
    std::erase_if(draining_,
                  [&](const DrainingListener& entry) { return same_redirect(entry.rule, rule); });
    draining_.push_back({rule, resources_behind(rule, former)});
  }
  schedule_drain_end(former, next.unit);
}

/// They have their time from now on. Asked to begin with, too: it may all come to nothing.
void Agent::schedule_drain_end(const protocol::Unit& former, const protocol::Unit& next) {
  if (!filter_.is_supported() || redirects_removed(former, next).empty()) return;
  loop_.cancel(drain_timer_);
  drain_timer_ = loop_.after(kDrainTime, [this] { remove_drained(); });
}

/// Takes them away, between two generations.
void Agent::remove_drained() {
  if (update_) {
    drain_timer_ = loop_.after(kDrainRetry, [this] { remove_drained(); });
    return;
  }
  for (auto& listener : std::exchange(draining_, {})) {
    listener.rule.restricted = false;  // only what was behind it is closed
    quarantine(std::move(listener.rule));
  }
  apply_committed();
}

void Agent::quarantine(core::UdpRule rule) {
  std::erase_if(quarantined_,
                [&](const core::UdpRule& other) { return same_redirect(rule, other); });
  quarantined_.push_back(std::move(rule));
}

/// Whoever is to be served goes before those who are to be gone: Envoy refuses a second listener
/// for a port that one of them has.
void Agent::free_ports_for(const protocol::Unit& unit) {
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

/// Envoy has nothing but what it was told last.
void Agent::lift_quarantine() {
  if (quarantined_.empty()) return;
  std::erase_if(quarantined_, [](const core::UdpRule& rule) { return rule.divert == 0; });
  for (auto& rule : quarantined_) rule.restricted = false;
  if (const auto set = filter_.set(packet_rules()); !set) log(set.error().text());
}

/// Its addresses go.
void Agent::lift_quarantine(const protocol::Unit& released) {
  for (const auto& [address, length] : released.addresses) {
    std::erase_if(quarantined_, [&](const auto& rule) { return rule.at.address == address; });
    std::erase_if(draining_, [&](const auto& entry) { return entry.rule.at.address == address; });
  }
}

/// What was refused. Its port may be another's who goes on.
void Agent::quarantine(const protocol::Unit& refused) {
  for (const auto& rule : refused.udp_rules) quarantine(rule);
  const auto committed = units_.find(refused.unit);
  if (committed != units_.end()) free_ports_for(committed->second.unit);
}

void Agent::forget_udp_state() {
  loop_.cancel(drain_timer_);
  draining_.clear();
  quarantined_.clear();
}

XdsSnapshot Agent::with_draining(XdsSnapshot snapshot) const {
  for (const auto& [rule, resources] : draining_) {
    snapshot.listeners.insert(resources.listeners.begin(), resources.listeners.end());
    snapshot.clusters.insert(resources.clusters.begin(), resources.clusters.end());
    snapshot.endpoints.insert(resources.endpoints.begin(), resources.endpoints.end());
  }
  return snapshot;
}

}  // namespace kindlb::agent

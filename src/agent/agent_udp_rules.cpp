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
  for (const auto& gate : former.udp_rules) {
    const bool goes_on = std::ranges::any_of(next.udp_rules, [&](const core::UdpRule& other) {
      return other.at == gate.at && other.divert == gate.divert;
    });
    if (gate.divert != 0 && !goes_on) out.push_back(gate);
  }
  return out;
}

bool same_redirect(const core::UdpRule& gate, const core::UdpRule& other) {
  return gate.at == other.at && gate.divert == other.divert;
}

/// The listener, its cluster and endpoints.
XdsSnapshot resources_behind(const core::UdpRule& gate, const protocol::Unit& unit) {
  XdsSnapshot out;
  for (const auto& listener : unit.listeners)
    if (listener.name == gate.listener) out.listeners[listener.name] = listener.body;
  for (const auto& cluster : unit.clusters)
    if (cluster.name == gate.cluster) out.clusters[cluster.name] = cluster.body;
  for (const auto& endpoints : unit.assignments)
    if (endpoints.cluster == gate.cluster)
      out.endpoints[endpoints.file] = {endpoints.cluster, endpoints.body};
  return out;
}

/// Rules in the making.
class RuleSetBuilder {
 public:
  void install(const core::UdpRule& gate) { gates_[gate.at] = gate; }
  /// Who is admitted changes at once; where it goes does not.
  void set_ranges(const core::UdpRule& gate) {
    auto& rule = gates_[gate.at];
    rule.at = gate.at;
    rule.restricted = gate.restricted;
    rule.allowed = gate.allowed;
  }
  void block(const core::UdpRule& gate) {
    if (!gates_.contains(gate.at)) set_ranges(gate);
    idle_.push_back(gate);
  }
  void idle(const core::UdpRule& gate) { idle_.push_back(gate); }
  void stop_redirecting(const core::UdpRule& gate) {
    gates_[gate.at].divert = 0;
    idle_.push_back(gate);
  }

  nftables::Rules rules() const {
    nftables::Rules out;
    for (const auto& [at, gate] : gates_)
      if (gate.restricted || gate.divert != 0) out.udp_rules.push_back(gate);
    for (const auto& gate : idle_) {
      const auto same = [&](const core::UdpRule& other) { return same_redirect(gate, other); };
      if (gate.divert != 0 && std::ranges::none_of(out.udp_rules, same) &&
          std::ranges::none_of(out.idle, same))
        out.idle.push_back(gate);
    }
    return out;
  }

 private:
  std::map<core::Target, core::UdpRule> gates_;
  std::vector<core::UdpRule> idle_;
};

}  // namespace

/// A port that is to be opened is guarded before it is, until it is closed; what is diverted must
/// be open already.
nftables::Rules Agent::packet_rules() const {
  RuleSetBuilder builder;
  for (const auto& [name, committed] : units_)
    if (!committed.suspended)
      for (const auto& gate : committed.unit.udp_rules) builder.install(gate);
  for (const auto& gate : quarantined_) builder.block(gate);
  for (const auto& listener : draining_) builder.idle(listener.gate);
  for (const auto& [key, request] : requests_) {
    if (request.stage == Request::Stage::Checking || request.stage == Request::Stage::Probing)
      continue;
    for (const auto& gate : request.unit.udp_rules) builder.set_ranges(gate);
    if (request.stage != Request::Stage::Applying || request.is_release) continue;
    for (const auto& gate : request.unit.udp_rules) builder.idle(gate);
    const auto committed = units_.find(request.unit.unit);
    if (committed == units_.end() || committed->second.suspended) continue;
    // Another listener takes the port.
    for (const auto& gate : redirects_removed(committed->second.unit, request.unit))
      if (!is_draining(gate)) builder.stop_redirecting(gate);
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
  if (filter_.works() && !unit.udp_rules.empty())
    std::swap(unit.listeners, unit.listeners_behind_rules);
  return unit;
}

bool Agent::is_draining(const core::UdpRule& gate) const {
  return std::ranges::any_of(
      draining_, [&](const DrainingListener& entry) { return same_redirect(entry.gate, gate); });
}

/// Before Envoy is told to take them away.
void Agent::start_draining(const Request& next) {
  const auto committed = units_.find(next.unit.unit);
  if (next.is_release || !filter_.works() || committed == units_.end() ||
      committed->second.suspended)
    return;
  const auto& former = committed->second.unit;
  for (const auto& gate : redirects_removed(former, next.unit)) {
    std::erase_if(draining_,
                  [&](const DrainingListener& entry) { return same_redirect(entry.gate, gate); });
    draining_.push_back({gate, resources_behind(gate, former)});
  }
  schedule_drain_end(former, next.unit);
}

/// They have their time from now on. Asked to begin with, too: it may all come to nothing.
void Agent::schedule_drain_end(const protocol::Unit& former, const protocol::Unit& next) {
  if (!filter_.works() || redirects_removed(former, next).empty()) return;
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
    listener.gate.restricted = false;  // only what was behind it is closed
    quarantine(std::move(listener.gate));
  }
  apply_committed();
}

void Agent::quarantine(core::UdpRule gate) {
  std::erase_if(quarantined_,
                [&](const core::UdpRule& other) { return same_redirect(gate, other); });
  quarantined_.push_back(std::move(gate));
}

/// Whoever is to be served goes before those who are to be gone: Envoy refuses a second listener
/// for a port that one of them has.
void Agent::free_ports_for(const protocol::Unit& unit) {
  if (draining_.empty() && quarantined_.empty()) return;
  for (const auto& listener : unit.listeners) {
    const auto place = udp_socket_of(listener.body);
    const auto holds_port = [&](const core::UdpRule& gate) {
      return place == core::Target{gate.at.address, gate.divert} && gate.listener != listener.name;
    };
    std::erase_if(draining_, [&](const DrainingListener& entry) { return holds_port(entry.gate); });
    std::erase_if(quarantined_, holds_port);
  }
}

/// Envoy has nothing but what it was told last.
void Agent::lift_quarantine() {
  if (quarantined_.empty()) return;
  std::erase_if(quarantined_, [](const core::UdpRule& gate) { return gate.divert == 0; });
  for (auto& gate : quarantined_) gate.restricted = false;
  if (const auto set = filter_.set(packet_rules()); !set) log(set.error().text());
}

/// Its addresses go.
void Agent::lift_quarantine(const protocol::Unit& released) {
  for (const auto& [address, length] : released.addresses) {
    std::erase_if(quarantined_, [&](const auto& gate) { return gate.at.address == address; });
    std::erase_if(draining_, [&](const auto& entry) { return entry.gate.at.address == address; });
  }
}

/// What was refused. Its port may be another's who goes on.
void Agent::quarantine(const protocol::Unit& refused) {
  for (const auto& gate : refused.udp_rules) quarantine(gate);
  const auto committed = units_.find(refused.unit);
  if (committed != units_.end()) free_ports_for(committed->second.unit);
}

void Agent::forget_udp_state() {
  loop_.cancel(drain_timer_);
  draining_.clear();
  quarantined_.clear();
}

XdsSnapshot Agent::with_draining(XdsSnapshot snapshot) const {
  for (const auto& [gate, resources] : draining_) {
    snapshot.listeners.insert(resources.listeners.begin(), resources.listeners.end());
    snapshot.clusters.insert(resources.clusters.begin(), resources.clusters.end());
    snapshot.endpoints.insert(resources.endpoints.begin(), resources.endpoints.end());
  }
  return snapshot;
}

}  // namespace kindlb::agent

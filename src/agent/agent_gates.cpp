// The agent's gates: rules of the kernel for UDP ports, and the listeners behind them.
#include "kindlb/agent/agent.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::agent {

namespace {

/// For how long a listener that gets no more datagrams may still answer those it has.
constexpr std::chrono::seconds kLastAnswers{2};
constexpr std::chrono::milliseconds kTryAgain{100};

std::vector<core::Gate> ended(const proxy::Unit& former, const proxy::Unit& next) {
  std::vector<core::Gate> out;
  for (const auto& gate : former.gates) {
    const bool goes_on = std::ranges::any_of(next.gates, [&](const core::Gate& other) {
      return other.at == gate.at && other.divert == gate.divert;
    });
    if (gate.divert != 0 && !goes_on) out.push_back(gate);
  }
  return out;
}

}  // namespace

/// A port that is to be opened is guarded before it is; what is diverted must be open already.
nftables::Rules Agent::packet_rules() const {
  std::map<core::Target, core::Gate> gates;
  for (const auto& [name, held] : held_)
    if (!held.withheld)
      for (const auto& gate : held.unit.gates) gates[gate.at] = gate;
  for (const auto& [key, job] : jobs_) {
    if (job.stage == Job::Stage::Checking || job.stage == Job::Stage::Probing) continue;
    for (const auto& gate : job.unit.gates) {
      auto& rule = gates[gate.at];
      rule.at = gate.at;
      rule.restricted = gate.restricted;
      rule.allowed = gate.allowed;
    }
  }
  nftables::Rules rules;
  for (const auto& former : former_gates_) {
    const auto found = gates.find(former.at);
    const bool again = found != gates.end() && found->second.divert == former.divert;
    if (!again) rules.former.push_back(former);
  }
  for (auto& [at, gate] : gates)
    if (gate.restricted || gate.divert != 0) rules.gates.push_back(std::move(gate));
  return rules;
}

/// A unit as Envoy is to be told, from what kindlb said, and back.
proxy::Unit Agent::turned_over(proxy::Unit unit) const {
  if (filter_.works() && !unit.gates.empty()) std::swap(unit.listeners, unit.gated_listeners);
  return unit;
}

/// Before Envoy is told to take them away.
void Agent::keep_diverted(const Job& next) {
  const auto held = held_.find(next.unit.unit);
  if (next.is_release || !filter_.works() || held == held_.end()) return;
  const auto& former = held->second.unit;
  for (const auto& gate : ended(former, next.unit)) {
    for (const auto& listener : former.listeners)
      if (listener.name == gate.listener) leaving_.listeners[listener.name] = listener.body;
    for (const auto& cluster : former.clusters)
      if (cluster.name == gate.cluster) leaving_.clusters[cluster.name] = cluster.body;
    for (const auto& endpoints : former.assignments)
      if (endpoints.cluster == gate.cluster)
        leaving_.endpoints[endpoints.file] = {endpoints.cluster, endpoints.body};
  }
}

void Agent::end_diversions(const proxy::Unit& former, const proxy::Unit& next) {
  const auto gates = ended(former, next);
  if (gates.empty() || !filter_.works()) return;
  former_gates_.insert(former_gates_.end(), gates.begin(), gates.end());
  loop_.cancel(leave_);
  leave_ = loop_.after(kLastAnswers, [this] { leave(); });
}

/// Takes them away, between two generations.
void Agent::leave() {
  if (transaction_) {
    leave_ = loop_.after(kTryAgain, [this] { leave(); });
    return;
  }
  forget_diverted();
  sync_network();
  restore();
}

void Agent::forget_diverted() {
  loop_.cancel(leave_);
  leaving_ = {};
  former_gates_.clear();
}

XdsContent Agent::with_leaving(XdsContent content) const {
  content.listeners.insert(leaving_.listeners.begin(), leaving_.listeners.end());
  content.clusters.insert(leaving_.clusters.begin(), leaving_.clusters.end());
  content.endpoints.insert(leaving_.endpoints.begin(), leaving_.endpoints.end());
  return content;
}

}  // namespace kindlb::agent

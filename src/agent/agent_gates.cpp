// The agent's gates: rules of the kernel for UDP ports, and the listeners behind them.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::agent {

namespace {

/// For how long a listener that gets no more datagrams may still answer those it has.
constexpr std::chrono::seconds kLastAnswers{2};
constexpr std::chrono::milliseconds kTryAgain{100};

std::vector<core::UdpRule> ended(const protocol::Unit& former, const protocol::Unit& next) {
  std::vector<core::UdpRule> out;
  for (const auto& gate : former.udp_rules) {
    const bool goes_on = std::ranges::any_of(next.udp_rules, [&](const core::UdpRule& other) {
      return other.at == gate.at && other.divert == gate.divert;
    });
    if (gate.divert != 0 && !goes_on) out.push_back(gate);
  }
  return out;
}

bool is_same(const core::UdpRule& gate, const core::UdpRule& other) {
  return gate.at == other.at && gate.divert == other.divert;
}

/// The listener, its cluster and endpoints.
XdsSnapshot behind(const core::UdpRule& gate, const protocol::Unit& unit) {
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
class Guards {
 public:
  void use(const core::UdpRule& gate) { gates_[gate.at] = gate; }
  /// Who is admitted changes at once; where it goes does not.
  void admit_by(const core::UdpRule& gate) {
    auto& rule = gates_[gate.at];
    rule.at = gate.at;
    rule.restricted = gate.restricted;
    rule.allowed = gate.allowed;
  }
  void keep_shut(const core::UdpRule& gate) {
    if (!gates_.contains(gate.at)) admit_by(gate);
    idle_.push_back(gate);
  }
  void idle(const core::UdpRule& gate) { idle_.push_back(gate); }
  void stop_diverting(const core::UdpRule& gate) {
    gates_[gate.at].divert = 0;
    idle_.push_back(gate);
  }

  nftables::Rules rules() const {
    nftables::Rules out;
    for (const auto& [at, gate] : gates_)
      if (gate.restricted || gate.divert != 0) out.udp_rules.push_back(gate);
    for (const auto& gate : idle_) {
      const auto same = [&](const core::UdpRule& other) { return is_same(gate, other); };
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
  Guards guards;
  for (const auto& [name, held] : held_)
    if (!held.withheld)
      for (const auto& gate : held.unit.udp_rules) guards.use(gate);
  for (const auto& gate : closing_) guards.keep_shut(gate);
  for (const auto& leaving : leaving_) guards.idle(leaving.gate);
  for (const auto& [key, job] : jobs_) {
    if (job.stage == Job::Stage::Checking || job.stage == Job::Stage::Probing) continue;
    for (const auto& gate : job.unit.udp_rules) guards.admit_by(gate);
    if (job.stage != Job::Stage::Applying || job.is_release) continue;
    for (const auto& gate : job.unit.udp_rules) guards.idle(gate);
    const auto held = held_.find(job.unit.unit);
    if (held == held_.end() || held->second.withheld) continue;
    // Another listener takes the port.
    for (const auto& gate : ended(held->second.unit, job.unit))
      if (!is_leaving(gate)) guards.stop_diverting(gate);
  }
  return guards.rules();
}

/// Before Envoy starts: what nobody guards is not opened.
void Agent::guard_stored() {
  const auto set = filter_.set(packet_rules());
  if (set) return;
  for (auto& [name, held] : held_) {
    if (held.withheld || held.unit.udp_rules.empty()) continue;
    held.withheld = true;
    log("not serving " + held.unit.owner + ": " + set.error().text());
  }
}

/// A unit as Envoy is to be told, from what kindlb said, and back.
protocol::Unit Agent::turned_over(protocol::Unit unit) const {
  if (filter_.works() && !unit.udp_rules.empty())
    std::swap(unit.listeners, unit.listeners_behind_rules);
  return unit;
}

bool Agent::is_leaving(const core::UdpRule& gate) const {
  return std::ranges::any_of(leaving_,
                             [&](const Leaving& entry) { return is_same(entry.gate, gate); });
}

/// Before Envoy is told to take them away.
void Agent::keep_diverted(const Job& next) {
  const auto held = held_.find(next.unit.unit);
  if (next.is_release || !filter_.works() || held == held_.end() || held->second.withheld) return;
  const auto& former = held->second.unit;
  for (const auto& gate : ended(former, next.unit)) {
    std::erase_if(leaving_, [&](const Leaving& entry) { return is_same(entry.gate, gate); });
    leaving_.push_back({gate, behind(gate, former)});
  }
  end_diversions(former, next.unit);
}

/// They have their time from now on. Asked to begin with, too: it may all come to nothing.
void Agent::end_diversions(const protocol::Unit& former, const protocol::Unit& next) {
  if (!filter_.works() || ended(former, next).empty()) return;
  loop_.cancel(leave_);
  leave_ = loop_.after(kLastAnswers, [this] { leave(); });
}

/// Takes them away, between two generations.
void Agent::leave() {
  if (transaction_) {
    leave_ = loop_.after(kTryAgain, [this] { leave(); });
    return;
  }
  for (auto& leaving : std::exchange(leaving_, {})) {
    leaving.gate.restricted = false;  // only what was behind it is closed
    close(std::move(leaving.gate));
  }
  restore();
}

void Agent::close(core::UdpRule gate) {
  std::erase_if(closing_, [&](const core::UdpRule& other) { return is_same(gate, other); });
  closing_.push_back(std::move(gate));
}

/// Whoever is to be served goes before those who are to be gone: Envoy refuses a second listener
/// for a port that one of them has.
void Agent::make_way(const protocol::Unit& unit) {
  if (leaving_.empty() && closing_.empty()) return;
  for (const auto& listener : unit.listeners) {
    const auto place = udp_socket_of(listener.body);
    const auto in_the_way = [&](const core::UdpRule& gate) {
      return place == core::Target{gate.at.address, gate.divert} && gate.listener != listener.name;
    };
    std::erase_if(leaving_, [&](const Leaving& entry) { return in_the_way(entry.gate); });
    std::erase_if(closing_, in_the_way);
  }
}

/// Envoy has nothing but what it was told last.
void Agent::forget_closed() {
  if (closing_.empty()) return;
  std::erase_if(closing_, [](const core::UdpRule& gate) { return gate.divert == 0; });
  for (auto& gate : closing_) gate.restricted = false;
  if (const auto set = filter_.set(packet_rules()); !set) log(set.error().text());
}

/// Its addresses go.
void Agent::forget_closed(const protocol::Unit& released) {
  for (const auto& [address, length] : released.addresses) {
    std::erase_if(closing_, [&](const auto& gate) { return gate.at.address == address; });
    std::erase_if(leaving_, [&](const auto& entry) { return entry.gate.at.address == address; });
  }
}

/// What was refused. Its port may be another's who goes on.
void Agent::close(const protocol::Unit& refused) {
  for (const auto& gate : refused.udp_rules) close(gate);
  const auto held = held_.find(refused.unit);
  if (held != held_.end()) make_way(held->second.unit);
}

void Agent::forget_diverted() {
  loop_.cancel(leave_);
  leaving_.clear();
  closing_.clear();
}

XdsSnapshot Agent::with_leaving(XdsSnapshot snapshot) const {
  for (const auto& [gate, behind] : leaving_) {
    snapshot.listeners.insert(behind.listeners.begin(), behind.listeners.end());
    snapshot.clusters.insert(behind.clusters.begin(), behind.clusters.end());
    snapshot.endpoints.insert(behind.endpoints.begin(), behind.endpoints.end());
  }
  return snapshot;
}

}  // namespace kindlb::agent

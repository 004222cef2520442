// UDP rules: which datagrams reach Envoy is decided by nf_tables rules in the container's network
// namespace, because Envoy drops all UDP sessions of a listener or cluster whose configuration
// changes (source ranges, session affinity), and a rule can change under them.
//
// A core::UdpRule filters datagrams to one port (`at`) by source and may redirect them to the port
// of another listener (`divert`), whose answers it rewrites to come from `at`. Rules are stateless:
// they rewrite ports in the packet and keep no conntrack entry, so a changed rule holds for the
// next datagram of every client, and nothing has to expire.
//
// Rules and listeners change one after the other, never together. The order keeps these windows
// closed:
// - A port is never open without its filter: ranges of a new unit are installed before Envoy gets
//   the listener, and stay until Envoy has closed it.
// - Datagrams are redirected only to a listener that is open: the redirection is installed when the
//   unit is committed, which is after Envoy's ACK.
// - The redirect port itself is never reachable from outside: it is blocked ("idle") before its
//   listener opens and until it has closed.
// - Answers are not lost: when a redirection ends, its listener stays open and its answers are
//   rewritten for kDrainTime ("draining").
// - Datagrams queued in the socket of a rejected or removed listener are not delivered to the next
//   one on that port: see `quarantined_`.
// Where the kernel has no nf_tables, units use listeners that filter in Envoy instead, and none of
// this applies.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::agent {

namespace {

/// How long a listener that gets no more datagrams stays open for answers to earlier ones.
constexpr std::chrono::seconds kDrainTime{2};
/// Interval at which removal waits for a pending update.
constexpr std::chrono::milliseconds kDrainRetry{100};

bool same_redirect(const core::UdpRule& rule, const core::UdpRule& other) {
  return rule.at == other.at && rule.divert == other.divert;
}

/// Return the rules of `former` whose redirection `next` does not continue.
std::vector<core::UdpRule> redirects_removed(const protocol::Unit& former,
                                             const protocol::Unit& next) {
  std::vector<core::UdpRule> out;
  for (const auto& rule : former.udp_rules) {
    const auto same = [&](const core::UdpRule& other) { return same_redirect(rule, other); };
    if (rule.divert != 0 && std::ranges::none_of(next.udp_rules, same)) out.push_back(rule);
  }
  return out;
}

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

/// Return the rules that must be in force now, given all committed units and requests. It is
/// computed from scratch each time and installed as a whole, so no path can forget to undo a step.
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
    // A redirection that ends without draining: its port was needed (free_ports_for), so its
    // listener is about to be replaced and must not get more datagrams.
    for (const auto& rule : redirects_removed(committed->second.unit, request.unit))
      if (!is_draining(rule)) builder.stop_redirecting(rule);
  }
  return builder.rules();
}

/// Install the rules of the stored units before Envoy starts. If the kernel refuses, units that
/// need rules are suspended: a port that must be filtered is not opened without a filter.
void Agent::install_stored_rules() {
  const auto set = filter_.set(packet_rules());
  if (set) return;
  for (auto& [name, committed] : units_) {
    if (committed.suspended || committed.unit.udp_rules.empty()) continue;
    committed.suspended = true;
    log("not serving " + committed.unit.owner + ": " + set.error().text());
  }
}

/// Put the listeners that rely on kernel rules in the place of those that filter in Envoy, if the
/// kernel supports the rules. Swapping twice gives the original.
protocol::Unit Agent::swap_listener_variants(protocol::Unit unit) const {
  if (filter_.is_supported() && !unit.udp_rules.empty())
    std::swap(unit.listeners, unit.listeners_behind_rules);
  return unit;
}

bool Agent::is_draining(const core::UdpRule& rule) const {
  return std::ranges::any_of(
      draining_, [&](const DrainingListener& entry) { return same_redirect(entry.rule, rule); });
}

/// Keep the listeners of redirections that this request ends, before the snapshot without them is
/// written.
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

/// Remove drained listeners kDrainTime from now. Called when the update starts, since it may fail
/// and leave entries behind, and again at commit, which is when datagrams really stop coming.
void Agent::schedule_drain_end(const protocol::Unit& former, const protocol::Unit& next) {
  if (!filter_.is_supported() || redirects_removed(former, next).empty()) return;
  loop_.cancel(drain_timer_);
  drain_timer_ = loop_.after(kDrainTime, [this] { remove_drained(); });
}

/// Take drained listeners out of the snapshot, between two updates.
void Agent::remove_drained() {
  if (update_) {
    drain_timer_ = loop_.after(kDrainRetry, [this] { remove_drained(); });
    return;
  }
  for (auto& listener : std::exchange(draining_, {})) {
    listener.rule.restricted =
        false;  // another rule filters the port; only the redirect port closes
    quarantine(std::move(listener.rule));
  }
  apply_committed();
}

/// Keep the rule's port filtered and its redirect port blocked. At most one entry per redirection.
void Agent::quarantine(core::UdpRule rule) {
  std::erase_if(quarantined_,
                [&](const core::UdpRule& other) { return same_redirect(rule, other); });
  quarantined_.push_back(std::move(rule));
}

/// Drop draining and quarantined entries whose redirect port a listener of the unit binds under
/// another name: Envoy rejects a second listener on the same address, and a live Service goes
/// before the last answers of a former one.
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

/// Envoy has exactly the listeners of the last snapshot: lift the filters of all others. Redirect
/// ports stay blocked until Envoy restarts, the address goes or a new listener takes them.
void Agent::lift_quarantine() {
  if (quarantined_.empty()) return;
  std::erase_if(quarantined_, [](const core::UdpRule& rule) { return rule.divert == 0; });
  for (auto& rule : quarantined_) rule.restricted = false;
  if (const auto set = filter_.set(packet_rules()); !set) log(set.error().text());
}

/// A released unit's addresses are removed, and no datagram reaches them: forget their entries.
void Agent::lift_quarantine(const protocol::Unit& released) {
  for (const auto& [address, length] : released.addresses) {
    std::erase_if(quarantined_, [&](const auto& rule) { return rule.at.address == address; });
    std::erase_if(draining_, [&](const auto& entry) { return entry.rule.at.address == address; });
  }
}

/// Quarantine the rules of a rejected unit, except on ports that its committed predecessor binds.
void Agent::quarantine(const protocol::Unit& refused) {
  for (const auto& rule : refused.udp_rules) quarantine(rule);
  const auto committed = units_.find(refused.unit);
  if (committed != units_.end()) free_ports_for(committed->second.unit);
}

/// Envoy has exited, and its sockets are closed.
void Agent::forget_udp_state() {
  loop_.cancel(drain_timer_);
  draining_.clear();
  quarantined_.clear();
}

/// Add what draining listeners need. Resources that the snapshot has under the same name win.
XdsSnapshot Agent::with_draining(XdsSnapshot snapshot) const {
  for (const auto& [rule, resources] : draining_) {
    snapshot.listeners.insert(resources.listeners.begin(), resources.listeners.end());
    snapshot.clusters.insert(resources.clusters.begin(), resources.clusters.end());
    snapshot.endpoints.insert(resources.endpoints.begin(), resources.endpoints.end());
  }
  return snapshot;
}

}  // namespace kindlb::agent

#pragma once
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
//
// This class owns what the rules depend on beside the units: the listeners that are draining and
// the rules in quarantine. Runs on the loop, which must outlive it as must the filter; not
// thread-safe.

#include "envoy/xds.hpp"
#include "loop.hpp"
#include "udp/packet_filter.hpp"

#include <functional>
#include <vector>

namespace kindlb::agent {

struct WantedUnits;

class UdpRules {
 public:
  /// How long a listener that gets no more datagrams stays open for answers to earlier ones.
  static constexpr std::chrono::seconds kDrainTime{2};
  /// Interval at which their removal waits for a pending update.
  static constexpr std::chrono::milliseconds kDrainRetry{100};

  /// `drained`: the drain time is over. The callee answers with end_draining() or, while it cannot
  /// change Envoy's listeners, with postpone_drain_end().
  UdpRules(Loop& loop, PacketFilter& filter, std::function<void()> drained)
      : loop_(loop), filter_(filter), drained_(std::move(drained)) {}
  ~UdpRules() { loop_.cancel(drain_timer_); }
  UdpRules(const UdpRules&) = delete;
  UdpRules& operator=(const UdpRules&) = delete;

  bool is_supported() const { return filter_.is_supported(); }
  /// Install the rules that must be in force now, in the place of all others.
  core::Result<void> install(const WantedUnits& wanted);

  /// Keep the listeners of redirections that `next` ends, before the snapshot without them is
  /// written.
  void start_draining(const protocol::Unit& former, const protocol::Unit& next);
  /// Remove drained listeners kDrainTime from now, if `next` ends a redirection. Called when the
  /// update starts, since it may fail and leave entries behind, and again at commit, which is when
  /// datagrams really stop coming.
  void schedule_drain_end(const protocol::Unit& former, const protocol::Unit& next);
  void postpone_drain_end();
  /// Quarantine what was draining: its listeners are about to be removed.
  void end_draining();
  /// Add what draining listeners need. Resources that the snapshot has under the same name win.
  XdsSnapshot with_draining(XdsSnapshot snapshot) const;

  /// Quarantine the rules of a rejected unit, except on ports that its committed predecessor binds;
  /// nullptr if it has none.
  void quarantine(const protocol::Unit& refused, const protocol::Unit* committed);
  /// Drop draining and quarantined entries whose redirect port a listener of the unit binds under
  /// another name: Envoy rejects a second listener on the same address, and a live Service goes
  /// before the last answers of a former one.
  void free_ports_for(const protocol::Unit& unit);
  /// Envoy has exactly the listeners of the last snapshot: lift the filters of all others. Redirect
  /// ports stay blocked until Envoy restarts, the address goes or a new listener takes them. Return
  /// whether the rules must be installed again.
  [[nodiscard]] bool lift_filters();
  /// A released unit's addresses are removed, and no datagram reaches them: forget their entries.
  void forget_addresses(const protocol::Unit& released);
  /// Envoy has exited, and its sockets are closed.
  void forget();

 private:
  /// A redirection that has ended. Its listener stays in the snapshot for a while, with cluster and
  /// endpoints, because the answers to datagrams it has already forwarded come back through it.
  struct DrainingListener {
    core::UdpRule rule;
    XdsSnapshot resources;
  };

  void quarantine(core::UdpRule rule);

  Loop& loop_;
  PacketFilter& filter_;
  std::function<void()> drained_;
  std::vector<DrainingListener> draining_;
  /// Rules of listeners that were rejected or removed while Envoy may still have them open. The
  /// port stays filtered until an ACK proves that they are closed. A redirect port stays blocked
  /// even then: Envoy reuses the socket of a closed listener, with the datagrams queued in it, for
  /// the next listener on that port. At most one entry per redirection.
  std::vector<core::UdpRule> quarantined_;
  Loop::TimerId drain_timer_ = 0;
};

}  // namespace kindlb::agent

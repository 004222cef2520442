#pragma once
// Keeps the container's network namespace (addresses, routes, UDP rules) as the units want it: what
// the committed units and the requests under way need together, and nothing else. Whichever way a
// request ends, sync() removes what it alone needed.
//
// Invariants
// - While a route is kept only for its open connections, a recheck is scheduled.
// - An address that was lost together with its interface is held back: another host may have it by
//   now, so it is not added before it has been checked again.
// Runs on the loop, which must outlive it as must network and rules; not thread-safe.

#include "loop.hpp"
#include "network/network.hpp"
#include "udp/udp_rules.hpp"
#include "wanted_units.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::agent {

class NetworkSync {
 public:
  /// Why the kernel refused what a request needs.
  struct Refusal {
    protocol::RejectStage stage = protocol::RejectStage::Address;
    std::string text;

    bool operator==(const Refusal&) const = default;
  };

  /// How often to check whether connections still need routes that no unit wants any more.
  static constexpr std::chrono::seconds kRouteRecheck{2};

  /// `wanted` is asked whenever the namespace changes.
  NetworkSync(Loop& loop, Network& network, UdpRules& rules, std::function<WantedUnits()> wanted)
      : loop_(loop), network_(network), rules_(rules), wanted_(std::move(wanted)) {}
  ~NetworkSync() { loop_.cancel(recheck_); }
  NetworkSync(const NetworkSync&) = delete;
  NetworkSync& operator=(const NetworkSync&) = delete;

  /// Add what is missing, for a request that has just become wanted: addresses, routes, rules.
  /// Stops at the first refusal; the caller then ends the request and calls sync(). Neighbours are
  /// told by announce(), once for all requests of a turn.
  std::optional<Refusal> add();
  /// Return whether there was anything to announce: see Network::announce.
  bool announce() { return network_.announce(); }
  /// Make the namespace match: first remove, then add, then filter, then announce. Failures are
  /// logged only, since there is no request to reject: what was installed before stays.
  void sync();
  /// Add and announce what is missing, whatever cannot be added. Return the first failure, for
  /// users; empty if there was none. `announced` tells whether neighbours were told.
  std::string restore(bool& announced);
  /// Do not add these addresses before they are admitted, or checked for a request.
  void hold_back(const std::vector<core::Cidr>& addresses);
  void admit(const core::Cidr& address) { held_back_.erase(address); }
  /// Return those that are still wanted.
  std::vector<core::Cidr> held_back();
  /// Install the UDP rules alone.
  core::Result<void> install_rules() { return rules_.install(wanted_()); }

 private:
  /// Return what all units need, without what is held back.
  DesiredNetwork addable(const WantedUnits& wanted) const;

  Loop& loop_;
  Network& network_;
  UdpRules& rules_;
  std::function<WantedUnits()> wanted_;
  std::set<core::Cidr> held_back_;
  Loop::TimerId recheck_ = 0;
};

}  // namespace kindlb::agent

#pragma once
// All proxies of this kindlb and the units assigned to them. Pure bookkeeping: nothing here touches
// a container or a channel. Lives on the loop's thread.
//
// Invariants, kept by handing out proxies as const only:
//  - A unit is on at most one proxy, and the index by unit says which.
//  - A proxy serves one cluster only, because all kind clusters use the same pod addresses.
// References and pointers to proxies and units stay valid until that proxy is dropped or that unit
// is released.

#include "fleet/assigned_unit.hpp"
#include "fleet/proxy_faults.hpp"
#include "fleet/proxy_host.hpp"
#include "kindlb/core/ip.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace kindlb::controller {

/// A Service that needs a proxy.
struct ProxyRequest {
  std::string unit;   ///< the Service's uid
  std::string owner;  ///< "cluster/namespace/name"
  std::string network;
  std::size_t watches = 1;  ///< see core::watches_of

  std::string cluster() const { return protocol::cluster_of(owner); }
};

/// What is known of one proxy.
struct Proxy {
  HostedProxy container;
  std::string cluster;                             ///< of all its units
  std::map<std::string, AssignedUnit> units;       ///< by uid; none: warm
  std::size_t capacity = protocol::kUsualWatches;  ///< endpoint files its Envoy can watch
  unsigned number = 0;                             ///< in its name, if shared; else 0
  protocol::EnvoyState envoy = protocol::EnvoyState::Starting;
  std::string trouble;    ///< why it is not live, for the Service's conditions
  ProxyFaults faults;     ///< none while it does not run: then `trouble` says it all
  bool removing = false;  ///< set until the engine confirms; its messages are ignored meanwhile

  bool warm() const { return units.empty(); }
  bool live() const {
    return container.running && envoy == protocol::EnvoyState::Live && !faults.any();
  }
  /// Return whether a channel to its agent may be opened.
  bool reachable() const { return container.running && !faults.paused && !removing; }
  /// Name the proxy in log lines: the Service it serves, or how many.
  std::string description() const;
};

class ProxyRoster {
 public:
  /// What the fleet must do about an agent's report.
  struct Reported {
    std::vector<std::string> released;    ///< were being released, and the agent holds them no more
    std::vector<std::string> duplicates;  ///< units that another proxy reported before
  };

  const std::map<std::string, Proxy>& proxies() const { return proxies_; }
  /// Return the proxy with that container id; null when there is none.
  const Proxy* find(const std::string& id) const;
  /// Return the proxy that the unit is assigned to; null when there is none.
  const Proxy* holder_of(const std::string& unit) const;
  const AssignedUnit* unit(const std::string& unit) const;
  AssignedUnit* unit(const std::string& unit);
  std::vector<std::string> units_of(const std::string& id) const;
  /// Return what the planner sees. A unit that is being released, or whose proxy is being removed,
  /// is `coming`: neither to be claimed again nor to be finished until it is gone
  /// (docs/contract.md §1), because until then the proxy may still answer for its address. If the
  /// proxy is removed for a fault, `trouble` names it.
  core::ProxyView view(const std::string& unit) const;
  /// Return the addresses assigned inside proxies on that network, with the unit that has each.
  std::map<core::IpAddress, std::string> addresses_on(const std::string& network) const;

  const Proxy& add(HostedProxy container);
  /// Forget the proxy. Returns the units that it held.
  std::vector<std::string> drop(const std::string& id);

  // REQUIRES, from here on: the proxy or unit is known.
  /// Assign the unit, which no proxy may hold, to the proxy. Both invariants are asserted.
  void assign(const std::string& id, const ProxyRequest& request);
  void release(const std::string& unit);
  /// Replace what is believed about the proxy's units by what its agent reports. The first proxy to
  /// report a unit keeps it. A unit that is not reported stays assigned but not acknowledged, so
  /// that its next plan sends it again.
  Reported report(const std::string& id, const std::vector<protocol::UnitState>& units);

  void container_started(const std::string& id);
  void container_stopped(const std::string& id);
  /// The channel is lost: what was sent on it will not be answered.
  void forget_sent(const std::string& id);
  void set_envoy(const std::string& id, protocol::EnvoyState envoy);
  void set_trouble(const std::string& id, const std::string& trouble);
  /// Return whether they differ from before.
  bool set_faults(const std::string& id, const ProxyFaults& faults);
  void set_capacity(const std::string& id, std::size_t watches);
  void set_number(const std::string& id, unsigned number);
  /// What troubled it before no longer matters, except for its faults.
  void set_removing(const std::string& id);

 private:
  std::map<std::string, Proxy> proxies_;        ///< by container id
  std::map<std::string, std::string> holders_;  ///< unit -> container id
};

}  // namespace kindlb::controller

#pragma once
// All proxies of this kindlb: which Services each holds, what its Envoy has confirmed of them, and
// the warm pool. Decides nothing about Services: it carries out what their plans ask for (claim,
// apply, remove) and reports through view() and the callback `changed`. A facade: each of its parts
// keeps a state of its own and tells by callbacks what concerns the others, and here is written
// what follows from it.
//
// Threads and lifetime: lives on the loop's thread, and all methods are called there, except those
// of ProxyHost::Listener, which only post. Executor and host listener must be stopped before the
// fleet is destroyed.
//
// Invariants, beside those of the parts:
//  - The container's name decides nothing. A proxy is claimed by the unit assigned to it, and by
//    the Apply that its agent stores. The rename that follows is atomic and for people; of an
//    adopted proxy's name only a shared one's number is used. A proxy that was renamed but holds no
//    unit is warm, so a kindlb that crashes in the middle of a claim leaks no proxy.
//  - Nothing is allocated, claimed or removed before discover() has succeeded once.
//  - A proxy that is dropped from the roster is forgotten by all parts.

#include "fleet/agent_channels.hpp"
#include "fleet/agent_messages.hpp"
#include "fleet/async_host.hpp"
#include "fleet/container_lifecycle.hpp"
#include "fleet/discovery.hpp"
#include "fleet/placement.hpp"
#include "fleet/proxy_host.hpp"
#include "fleet/roster.hpp"
#include "fleet/supervision.hpp"
#include "fleet/warm_pool.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/plan.hpp"
#include "loop.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::controller {

/// From the command line; fixed while the fleet lives.
struct FleetOptions {
  std::size_t warm_proxies = 2;        ///< per docker network in use
  std::size_t services_per_proxy = 1;  ///< 0: as many as Envoy can watch files for
  /// A claimed warm proxy is replaced after this delay, so that starting the next container does
  /// not compete with serving the Service that took this one.
  std::chrono::milliseconds refill_delay{250};
};

class Fleet final : public ProxyHost::Listener {
 public:
  /// A Service that a proxy holds, for the sweep that removes orphans.
  struct HeldUnit {
    std::string unit;   ///< the Service's uid
    std::string owner;  ///< "cluster/namespace/name"
  };

  /// Called on the loop's thread. `changed`: view(unit) may differ from before. `claim_failed`: the
  /// engine could not create a proxy for the unit; the claim is withdrawn, and a later plan may ask
  /// again. `discovered`: proxies have been adopted, so every Service must be planned again.
  struct Callbacks {
    std::function<void(const std::string& unit)> changed;
    std::function<void(const std::string& unit, const core::Error& why)> claim_failed;
    std::function<void()> discovered;
  };

  Fleet(Loop& loop, base::ThreadPool& executor, ProxyHost& host, FleetOptions options,
        Callbacks callbacks);

  /// List the engine's proxies and adopt them. Called at the start and whenever the event stream
  /// was interrupted; calls while a listing is under way are merged into one more.
  void discover() { discovery_.run(); }
  bool discovered() const { return discovery_.done(); }
  /// Keep warm proxies on these networks, and remove those on all others.
  void keep_warm_on(std::set<std::string> networks) { pool_.keep_on(std::move(networks)); }

  /// Return what is known of the unit's proxy; the planner's only source.
  core::ProxyView view(const std::string& unit) const;
  std::vector<HeldUnit> held_units() const;
  /// Return the addresses on that network that are assigned inside a proxy, with the unit that has
  /// each, including proxies of other kindlbs on this engine.
  std::map<core::IpAddress, std::string> held_addresses(const std::string& network) const;
  std::size_t warm_count() const;  ///< ready to be claimed
  bool has_warm() const;           ///< any, including those being created or removed
  bool knows(const std::string& id) const { return roster_.find(id) != nullptr; }

  /// Have the addresses checked by the proxy that a claim would choose, and reserve room there for
  /// a few seconds. Saves the time of the check later; nothing depends on it.
  void prepare(const ProxyRequest& request, const std::vector<core::Cidr>& addresses);
  /// Assign a proxy to the unit: the fullest of its cluster that has room, else a warm one, else a
  /// new one. Does nothing for a unit that has a proxy or waits for one.
  void claim(const ProxyRequest& request);
  /// Send the configuration to the unit's proxy. The outcome appears in view().
  void apply(const std::string& unit, const core::ProxyConfig& config,
             const core::Revision& revision, const std::vector<core::Probe>& probes);
  /// Release the unit from its proxy; with the last unit, the proxy itself is removed.
  void remove(const std::string& unit);
  /// Let the next plan send a rejected revision, or probe an unreachable one, once more.
  void forget_failure(const std::string& unit);
  /// Start the unit's proxy container again, if it is stopped.
  void start(const std::string& unit);

  // Events of the engine about our containers. Unknown ids are ignored; repeated events do no harm.
  void container_started(const std::string& id);
  void container_died(const std::string& id);
  void container_destroyed(const std::string& id);
  void container_paused(const std::string& id) { supervision_.container_paused(id, true); }
  void container_unpaused(const std::string& id) { supervision_.container_paused(id, false); }
  void container_connected(const std::string& id) { supervision_.network_changed(id, true); }
  void container_disconnected(const std::string& id) { supervision_.network_changed(id, false); }

  void on_agent_message(const std::string& id, protocol::Message message) override;
  void on_channel_closed(const std::string& id, const std::string& why) override;

 private:
  void assign(const std::string& id, const ProxyRequest& request);
  void created(const std::string& pending, core::Result<HostedProxy> result);
  /// `found`: as listed. Adopt it, or compare it with what is known.
  void adopt(HostedProxy found);
  void drop(const std::string& id);
  void replace(const std::string& id);
  void notify_units(const std::string& id) const;

  Loop& loop_;
  const Callbacks callbacks_;
  AsyncHost host_;
  ProxyRoster roster_;
  AgentChannels channels_;
  AgentMessages messages_;
  ContainerLifecycle containers_;
  Supervision supervision_;
  Placement placement_;
  WarmPool pool_;
  Discovery discovery_;
};

}  // namespace kindlb::controller

#pragma once
// All proxies of this kindlb: which Services each holds, what its Envoy has confirmed of them, and
// the warm pool. Decides nothing about Services: it carries out what their plans ask for (claim,
// apply, remove) and reports through view() and the callback `changed`.
//
// Threads and lifetime: lives on the loop's thread, and all methods are called there, except those
// of ProxyHost::Listener, which only post. Blocking work goes to the executor and comes back as a
// task; it refers to proxies by container id, because a proxy may be gone by then. Executor and
// host listener must be stopped before the fleet is destroyed.
//
// Invariants:
//  - A unit (a Service, by uid) is on at most one proxy: holders_ and Proxy::units say the same. A
//    second proxy that reports the unit loses it (release_duplicates), since two proxies must never
//    answer for one address.
//  - A proxy serves one cluster only: all kind clusters use the same pod addresses.
//  - The agent is the authority on what a proxy holds. Hello, Status and the state file replace
//    what the fleet believed (adopt_units); `acknowledged` is never set from anything else but
//    these and Applied, so that Serving=True is never written on a guess (docs/contract.md §2).
//  - The container's name decides nothing. A proxy is claimed by an entry in `units`, and by the
//    Apply that its agent stores. The rename that follows is atomic and for people; of an adopted
//    proxy's name only a shared one's number is used. A proxy that was renamed but holds no unit is
//    warm, so a kindlb that crashes in the middle of a claim leaks no proxy.
//  - A unit that is being released, and a proxy that is being removed, count as `coming` in view():
//    neither can be claimed anew, and the finalizer stays until they are gone (docs/contract.md
//    §1), because until then they may still answer for the address.
//  - Nothing is allocated, claimed or removed before discover() has succeeded once.

#include "fleet/proxy_host.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/placement.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/service.hpp"
#include "loop.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
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

/// A Service that needs a proxy.
struct ProxyRequest {
  std::string unit;   ///< the Service's uid
  std::string owner;  ///< "cluster/namespace/name"
  std::string network;
  std::size_t watches = 1;  ///< see core::watches_of

  std::string cluster() const { return protocol::cluster_of(owner); }
};

class Fleet final : public ProxyHost::Listener {
 public:
  /// A Service that a proxy holds, for the sweep that removes orphans.
  struct HeldUnit {
    std::string proxy;
    std::string unit;   ///< the Service's uid
    std::string owner;  ///< "cluster/namespace/name"
    bool running = true;
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
  void discover();
  bool discovered() const { return discovered_; }
  /// Keep warm proxies on these networks, and remove those on all others.
  void keep_warm_on(std::set<std::string> networks);

  /// Return what is known of the unit's proxy; the planner's only source.
  core::ProxyView view(const std::string& unit) const;
  std::vector<HeldUnit> held_units() const;
  /// Return the addresses on that network that are assigned inside a proxy, with the unit that has
  /// each, including proxies of other kindlbs on this engine.
  std::map<core::IpAddress, std::string> held_addresses(const std::string& network) const;
  std::size_t warm_count() const;  ///< ready to be claimed
  bool has_warm() const;           ///< any, including those being created or removed

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
  bool knows(const std::string& id) const { return proxies_.contains(id); }

  void on_agent_message(const std::string& id, protocol::Message message) override;
  void on_channel_closed(const std::string& id, const std::string& why) override;

 private:
  /// Opening lasts until Hello: only then may anything be sent.
  enum class Channel { Closed, Opening, Open };

  /// A Service on a proxy. At most one Apply is of interest at a time: an answer counts only if it
  /// carries `last_apply`, so answers to superseded or lost requests change nothing.
  struct Unit {
    std::string owner;
    std::size_t watches = 1;
    std::uint64_t release_id = 0;  ///< not 0: being released, by the Release with this id
    core::Revision acknowledged;   ///< confirmed by the running Envoy; empty after it restarted
    core::Revision sent;           ///< not answered yet; empty once the channel is lost
    core::Revision rejected;       ///< not sent again until forget_failure()
    std::string rejection;
    bool address_refused = false;  ///< another host answers for an address of `rejected`
    core::Reach reach = core::Reach::Unknown;
    std::string reach_detail;
    std::vector<core::Cidr> addresses;
    std::uint64_t last_apply = 0;  ///< id of the newest Apply

    bool releasing() const { return release_id != 0; }
  };

  /// Room kept for a Service between its prepare and its claim. Expires, because the Service may be
  /// deleted in between.
  struct Reservation {
    std::string cluster;
    std::size_t watches = 1;
    Loop::TimePoint until;
  };

  struct Proxy {
    HostedProxy host;
    std::string cluster;                              ///< of all its units
    std::map<std::string, Unit> units;                ///< by uid; none: warm
    std::map<std::string, Reservation> reservations;  ///< by uid
    std::size_t capacity = protocol::kUsualWatches;   ///< endpoint files its Envoy can watch
    unsigned number = 0;                              ///< in its name, if shared; else 0
    Channel channel = Channel::Closed;
    unsigned connect_failures = 0;  ///< in a row
    protocol::EnvoyState envoy = protocol::EnvoyState::Starting;
    std::string trouble;    ///< why it is not live, for the Service's conditions
    bool removing = false;  ///< set until the engine confirms; its messages are ignored meanwhile
    unsigned removal_failures = 0;
    bool starting = false;
    /// By unit, the newest message while there is no channel. Sent after Hello. Older ones are
    /// dropped: an Apply is complete, and a Release makes any Apply before it pointless.
    std::map<std::string, protocol::Message> unsent;

    bool warm() const { return units.empty(); }
  };

  /// A proxy that is being created, with the Services that will be assigned to it. Placement counts
  /// it like an existing one, so that many Services created at once do not create a proxy each.
  struct PendingProxy {
    std::string network;
    std::string cluster;
    std::map<std::string, ProxyRequest> requests;  ///< by unit
    bool unwanted = false;                         ///< its last request was withdrawn
  };

  /// A unit and its proxy; nulls when no proxy holds it. Valid until the next change of proxies_.
  struct UnitRef {
    Proxy* proxy = nullptr;
    Unit* unit = nullptr;
    explicit operator bool() const { return unit != nullptr; }
  };

  // Placement and release of units (fleet_placement.cpp). `excluding`: a unit not to be counted.
  UnitRef find(const std::string& unit) const;
  const PendingProxy* pending_for(const std::string& unit) const;
  std::vector<core::ProxyLoad> rooms(const std::string& excluding) const;
  core::ProxyLoad room_of(const Proxy& proxy, const std::string& excluding) const;
  std::optional<std::string> choose_proxy(const ProxyRequest& request) const;
  void assign(Proxy& proxy, const ProxyRequest& request);
  void rename_container(const Proxy& proxy, const std::string& unit, const std::string& owner);
  unsigned free_number(const std::string& cluster) const;
  void create_for(const ProxyRequest& request);
  void created(const std::string& id, core::Result<HostedProxy> result);
  bool outgrows(const Proxy& proxy, const std::string& unit, std::size_t watches) const;
  void release_unit(Proxy& proxy, const std::string& unit);
  void send_release(Proxy& proxy, const std::string& unit, Unit& releasing);
  void unit_released(Proxy& proxy, std::string unit);
  void drop_proxy(const std::string& id);

  // Discovery and adoption, containers (fleet_containers.cpp)
  void listed(const std::set<std::string>& before, core::Result<std::vector<HostedProxy>> found);
  void adopt(std::set<std::string> gone, std::vector<HostedProxy> found);
  void adopt_one(HostedProxy found);
  void note_foreign_proxy(const HostedProxy& found);
  void adopt_units(Proxy& proxy, const std::vector<protocol::UnitState>& units);
  void release_duplicates(Proxy& proxy, const std::vector<std::string>& units);
  void notify_units(const Proxy& proxy);
  static std::string describe(const Proxy& proxy);
  void start_now(const std::string& id);
  void on_start_failed(Proxy& proxy, const core::Error& why);
  void remove_proxy(const std::string& id);
  void removed(const std::string& id, const core::Result<void>& result);

  // Channels and messages (fleet_channels.cpp)
  void open_channel(Proxy& proxy);
  void open_next_channel();
  void reopen_later(Proxy& proxy);
  void await_hello(const std::string& id);
  void channel_opened(const std::string& id, const core::Result<void>& result);
  void reconnect(Proxy& proxy);
  static void abandon_sent(Proxy& proxy);
  void send(Proxy& proxy, const std::string& unit, protocol::Message message);
  void send_unsent(Proxy& proxy);
  void on_answer_timeout(const std::string& unit, std::uint64_t message);

  // The warm pool (fleet_pool.cpp)
  void refill_soon(std::chrono::milliseconds delay);
  void refill_after_loss();
  void refill();
  void create_warm(const std::string& network);
  void warm_created(const std::string& network, core::Result<HostedProxy> result);
  void trim_warm();

  void on_first_hello(Proxy& proxy);
  void on(Proxy& proxy, const protocol::Hello& hello);
  void on(Proxy& proxy, const protocol::Applied& applied);
  void on(Proxy& proxy, const protocol::Rejected& rejected);
  void on(Proxy& proxy, const protocol::Status& status);
  void on(Proxy& proxy, const protocol::Bye& bye);
  template <typename Other>
  void on(Proxy&, const Other&) {}  // requests: only kindlb sends them

  Loop& loop_;
  base::ThreadPool& executor_;
  ProxyHost& host_;
  const FleetOptions options_;
  const Callbacks callbacks_;
  std::map<std::string, Proxy> proxies_;  ///< by container id
  /// A proxy of another kindlb on this engine. Never touched; its addresses are not free.
  struct ForeignProxy {
    std::string network;
    std::map<core::IpAddress, std::string> addresses;  ///< with the unit that has it
  };
  std::map<std::string, ForeignProxy> foreign_proxies_;  ///< by container id
  std::map<std::string, std::string> holders_;           ///< unit -> container id
  std::map<std::string, PendingProxy> pending_;          ///< by "pending-N", until there is an id
  std::map<std::string, std::size_t> creating_warm_;     ///< warm proxies being created, by network
  std::set<std::string> networks_;                       ///< those with a warm pool
  bool discovered_ = false;
  bool discovering_ = false;
  bool discover_again_ = false;
  std::optional<Loop::TimePoint> refill_at_;
  unsigned refill_failures_ = 0;  ///< warm proxies in a row that did not start or died
  std::uint64_t next_id_ = 1;     ///< of messages; unique over all proxies
};

}  // namespace kindlb::controller

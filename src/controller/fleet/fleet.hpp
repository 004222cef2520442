#pragma once
// The proxies there are: which Services each holds, what its Envoy has confirmed of them, and the
// warm ones that wait for a Service. Lives on the loop's thread; slow work goes to the executor and
// comes back as a task. Decides nothing about Services: it carries out what their plans ask for and
// reports through view() and `changed`.

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

struct FleetOptions {
  std::size_t warm_proxies = 2;        ///< per docker network in use
  std::size_t services_per_proxy = 1;  ///< 0: as many as Envoy can watch files for
  /// A claimed proxy is replaced after this quiet time, so that starting the next one does not
  /// compete with serving the Service that took it.
  std::chrono::milliseconds refill_delay{250};
};

/// A Service that is to have a proxy.
struct ProxyRequest {
  std::string unit;   ///< its uid
  std::string owner;  ///< "cluster/namespace/name"
  std::string network;
  std::size_t watches = 1;  ///< see core::watches_of

  std::string cluster() const { return protocol::cluster_of(owner); }
};

class Fleet final : public ProxyHost::Listener {
 public:
  /// A Service that a proxy holds, for the sweep that looks for orphans.
  struct HeldUnit {
    std::string proxy;
    std::string unit;   ///< the Service's uid
    std::string owner;  ///< "cluster/namespace/name"
    bool running = true;
  };

  /// `changed`: something about the proxy of that unit is new. `claim_failed`: no proxy could be
  /// made for it, in the engine's words. Both are called on the loop's thread.
  struct Callbacks {
    std::function<void(const std::string& unit)> changed;
    std::function<void(const std::string& unit, const core::Error& why)> claim_failed;
    std::function<void()> discovered;
  };

  Fleet(Loop& loop, base::ThreadPool& executor, ProxyHost& host, FleetOptions options,
        Callbacks callbacks);

  /// Looks at what exists and adopts it; again after the engine came back.
  void discover();
  bool discovered() const { return discovered_; }
  /// Networks that get warm proxies; those of other networks are let go.
  void keep_warm_on(std::set<std::string> networks);

  core::ProxyView view(const std::string& unit) const;
  std::vector<HeldUnit> held_units() const;
  /// Addresses held for any Service on that network.
  std::map<core::IpAddress, std::string> held_addresses(const std::string& network) const;
  std::size_t warm_count() const;  ///< ready to be claimed
  bool has_warm() const;           ///< any, also ones still coming or going

  /// Has the addresses checked by the proxy that a claim would take, where room is kept for it.
  void prepare(const ProxyRequest& request, const std::vector<core::Cidr>& addresses);
  void claim(const ProxyRequest& request);
  void apply(const std::string& unit, const core::ProxyConfig& config,
             const core::Revision& revision, const std::vector<core::Probe>& probes);
  /// Takes the Service off its proxy; the last one takes the proxy along.
  void remove(const std::string& unit);
  /// The next plan may send a rejected revision, or probe an unreachable one, once more.
  void forget_failure(const std::string& unit);
  void start(const std::string& unit);

  // What the engine tells about containers of ours.
  void container_started(const std::string& id);
  void container_died(const std::string& id);
  void container_destroyed(const std::string& id);
  bool knows(const std::string& id) const { return proxies_.contains(id); }

  void on_agent_message(const std::string& id, protocol::Message message) override;
  void on_channel_closed(const std::string& id, const std::string& why) override;

 private:
  enum class Channel { Closed, Opening, Open };

  /// A Service on a proxy.
  struct Unit {
    std::string owner;
    std::size_t watches = 1;
    std::uint64_t release_id = 0;  ///< not 0: it is leaving, and this is the message that said so
    core::Revision acknowledged;
    core::Revision sent;
    core::Revision rejected;
    std::string rejection;
    bool address_refused = false;
    core::Reach reach = core::Reach::Unknown;
    std::string reach_detail;
    std::vector<core::Cidr> addresses;
    std::uint64_t last_apply = 0;  ///< id of the message an answer must match

    bool releasing() const { return release_id != 0; }
  };

  /// Room kept for a Service after its prepare, for a while.
  struct Reservation {
    std::string cluster;
    std::size_t watches = 1;
    Loop::Clock::time_point until;
  };

  struct Proxy {
    HostedProxy host;
    std::string cluster;                ///< of its units
    std::map<std::string, Unit> units;  ///< none: warm
    std::map<std::string, Reservation> reservations;
    std::size_t capacity = protocol::kUsualWatches;
    unsigned number = 0;  ///< in the name of a shared one
    Channel channel = Channel::Closed;
    unsigned connect_failures = 0;
    protocol::EnvoyState envoy = protocol::EnvoyState::Starting;
    std::string trouble;
    bool removing = false;
    unsigned removal_failures = 0;
    bool starting = false;
    std::map<std::string, protocol::Message> unsent;  ///< by unit: until the channel is open

    bool warm() const { return units.empty(); }
  };

  /// A proxy that is being made, and who waits for it.
  struct PendingProxy {
    std::string network;
    std::string cluster;
    std::map<std::string, ProxyRequest> requests;  ///< by unit
    bool unwanted = false;                         ///< the last of them was removed before it came
  };

  /// A unit where it is; nulls when nobody has it.
  struct UnitRef {
    Proxy* proxy = nullptr;
    Unit* unit = nullptr;
    explicit operator bool() const { return unit != nullptr; }
  };

  // Placement (fleet_placement.cpp)
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

  void listed(const std::set<std::string>& before, core::Result<std::vector<HostedProxy>> found);
  void adopt(std::set<std::string> gone, std::vector<HostedProxy> found);
  void adopt_one(HostedProxy found);
  void note_foreign_proxy(const HostedProxy& found);
  void adopt_units(Proxy& proxy, const std::vector<protocol::UnitState>& units);
  void release_duplicates(Proxy& proxy, const std::vector<std::string>& units);
  void notify_units(const Proxy& proxy);
  static std::string describe(const Proxy& proxy);
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
  void start_now(const std::string& id);
  void on_start_failed(Proxy& proxy, const core::Error& why);
  void remove_proxy(const std::string& id);
  void removed(const std::string& id, const core::Result<void>& result);
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
  void on(Proxy&, const Other&) {}  // what only kindlb says

  Loop& loop_;
  base::ThreadPool& executor_;
  ProxyHost& host_;
  const FleetOptions options_;
  const Callbacks callbacks_;
  std::map<std::string, Proxy> proxies_;  ///< by container id
  struct ForeignProxy {
    std::string network;
    std::map<core::IpAddress, std::string> addresses;  ///< with the unit that has it
  };
  std::map<std::string, ForeignProxy>
      foreign_proxies_;                               ///< proxies of other kindlbs, by container id
  std::map<std::string, std::string> holders_;        ///< unit -> container id
  std::map<std::string, PendingProxy> pending_;       ///< by a name of ours
  std::map<std::string, std::size_t> creating_warm_;  ///< warm proxies being made, by network
  std::set<std::string> networks_;
  bool discovered_ = false;
  bool discovering_ = false;
  bool discover_again_ = false;
  std::optional<Loop::Clock::time_point> refill_at_;
  unsigned refill_failures_ = 0;  ///< warm proxies in a row that could not be made or did not live
  std::uint64_t next_id_ = 1;
};

}  // namespace kindlb::controller

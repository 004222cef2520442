#pragma once
// The proxies there are: which Service each holds, what its Envoy has confirmed, and the warm ones
// that wait for a Service. Lives on the loop's thread; slow work goes to the executor and comes
// back as a task. Decides nothing about Services: it carries out what their plans ask for and
// reports through view() and `changed`.

#include "kindlb/controller/executor.hpp"
#include "kindlb/controller/loop.hpp"
#include "kindlb/controller/proxy_host.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/service.hpp"

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
  std::size_t warm_proxies = 2;  ///< per docker network in use
  /// A claimed proxy is replaced after this quiet time, so that starting the next one does not
  /// compete with serving the Service that took it.
  std::chrono::milliseconds refill_delay{250};
};

class Fleet final : public ProxyHost::Listener {
 public:
  /// A proxy that holds a Service, for the sweep that looks for orphans.
  struct Holding {
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

  Fleet(Loop& loop, Executor& executor, ProxyHost& host, FleetOptions options, Callbacks callbacks);

  /// Looks at what exists and adopts it; again after the engine came back.
  void discover();
  bool discovered() const { return discovered_; }
  /// Networks that get warm proxies; those of other networks are let go.
  void keep_warm_on(std::set<std::string> networks);

  core::ProxyView view(const std::string& unit) const;
  std::vector<Holding> holdings() const;
  /// Addresses held for any Service on that network.
  std::map<core::IpAddress, std::string> held_addresses(const std::string& network) const;
  std::size_t warm_count() const;  ///< ready to be claimed
  bool has_warm() const;           ///< any, also ones still coming or going

  /// Has the addresses checked by the warm proxy that a claim would take, which is kept for it.
  void prepare(const std::string& unit, const std::string& network,
               const std::vector<core::Cidr>& addresses);
  void claim(const std::string& unit, const std::string& owner, const std::string& network);
  void apply(const std::string& unit, const core::ProxyConfig& config,
             const core::Revision& revision, const std::vector<core::Probe>& probes);
  void remove(const std::string& unit);
  /// The next plan may send a rejected revision, or probe an unreachable one, once more.
  void forget_failure(const std::string& unit);
  void start(const std::string& unit);

  // What the engine tells about containers of ours.
  void container_started(const std::string& id);
  void container_died(const std::string& id);
  void container_destroyed(const std::string& id);
  bool knows(const std::string& id) const { return proxies_.contains(id); }

  void agent_said(const std::string& id, proxy::Message message) override;
  void agent_lost(const std::string& id, const std::string& why) override;

 private:
  enum class Channel { Closed, Opening, Open };

  struct Proxy {
    HostedProxy host;
    std::string unit;  ///< empty: warm
    std::string owner;
    std::string promised;  ///< warm, but kept for this unit after its prepare, for a while
    Loop::Clock::time_point promised_until;
    Channel channel = Channel::Closed;
    unsigned connect_failures = 0;
    proxy::EnvoyState envoy = proxy::EnvoyState::Starting;
    std::string trouble;
    bool removing = false;
    unsigned removal_failures = 0;
    bool starting = false;
    core::Revision acknowledged;
    core::Revision sent;
    core::Revision rejected;
    std::string rejection;
    bool address_refused = false;
    core::Reach reach = core::Reach::Unknown;
    std::string reach_detail;
    std::vector<core::Cidr> addresses;
    std::uint64_t last_apply = 0;           ///< id of the message an answer must match
    std::optional<proxy::Message> waiting;  ///< to be sent once the channel is open
  };

  void adopt(std::set<std::string> gone, std::vector<HostedProxy> found);
  void adopt_one(HostedProxy found);
  void note_stranger(const HostedProxy& found);
  void take_state(Proxy& proxy, const std::vector<proxy::UnitState>& units);
  void open_channel(Proxy& proxy);
  void open_next_channel();
  void reopen_later(Proxy& proxy);
  void await_hello(const std::string& id);
  void channel_opened(const std::string& id, const core::Result<void>& result);
  void send(Proxy& proxy, proxy::Message message);
  Proxy* holder_of(const std::string& unit);
  const Proxy* holder_of(const std::string& unit) const;
  Proxy* warm_for(const std::string& unit, const std::string& network);
  void hold(Proxy& proxy, const std::string& unit, const std::string& owner);
  void create_for(const std::string& unit, const std::string& owner, const std::string& network);
  void created_for(const std::string& unit, core::Result<HostedProxy> result);
  void give_up_waiting(const std::string& id, std::uint64_t apply);
  void start_now(const std::string& id);
  void not_started(Proxy& proxy, const core::Error& why);
  void remove_proxy(const std::string& id);
  void removed(const std::string& id, const core::Result<void>& result);
  void refill_soon(std::chrono::milliseconds delay);
  void refill_after_loss();
  void refill();
  void create_warm(const std::string& network);
  void trim_warm();

  void met(Proxy& proxy);
  void on(Proxy& proxy, const proxy::Hello& hello);
  void on(Proxy& proxy, const proxy::Applied& applied);
  void on(Proxy& proxy, const proxy::Rejected& rejected);
  void on(Proxy& proxy, const proxy::Status& status);
  void on(Proxy& proxy, const proxy::Bye& bye);
  template <typename Other>
  void on(Proxy&, const Other&) {}  // what only kindlb says

  Loop& loop_;
  Executor& executor_;
  ProxyHost& host_;
  const FleetOptions options_;
  const Callbacks callbacks_;
  std::map<std::string, Proxy> proxies_;  ///< by container id
  struct Stranger {
    std::string network;
    std::map<core::IpAddress, std::string> addresses;  ///< with the unit that has it
  };
  std::map<std::string, Stranger> strangers_;  ///< proxies of other kindlbs, by container id
  struct Coming {
    std::string owner;
    std::string network;
    bool unwanted = false;  ///< removed before it came
  };
  std::map<std::string, Coming> coming_;        ///< by unit
  std::map<std::string, std::size_t> warming_;  ///< warm proxies being made, by network
  std::set<std::string> networks_;
  bool discovered_ = false;
  bool discovering_ = false;
  bool discover_again_ = false;
  std::optional<Loop::Clock::time_point> refill_at_;
  unsigned refill_failures_ = 0;  ///< warm proxies in a row that could not be made or did not live
  std::uint64_t next_id_ = 1;
};

}  // namespace kindlb::controller

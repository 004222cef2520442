#pragma once
// Proxies in memory, each with an agent that answers at once and remembers its units as the real
// one does. Faults per operation, addresses in use by other hosts, stuck or lost channels and dying
// containers on demand. Thread-safe; the listener and the engine's events are called without the
// lock, on whichever thread caused them.

#include "fleet/proxy_host.hpp"
#include "support/fakes/journal.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace kindlb::testing {

class FakeProxyHost final : public controller::ProxyHost {
 public:
  /// What the engine tells about a container: "start", "die", "destroy", "pause", "unpause",
  /// "connect" or "disconnect".
  using Event = std::function<void(const std::string& action, const std::string& id)>;

  explicit FakeProxyHost(Journal& journal) : journal_(journal) {}

  // Scripting.
  /// The next `times` calls of "create", "start", "remove", "connect", "list", "inspect" or
  /// "rename" fail.
  void fail_next(const std::string& operation, core::Error error, int times = 1);
  /// The next Applies are refused with this.
  void reject_next(protocol::RejectStage stage, const std::string& text, int times = 1);
  void occupy_address(const core::IpAddress& address);
  void block_direct_path(bool blocked);
  /// Agents take Applies in and say nothing.
  void mute(bool muted);
  /// send() gives false although the channel is open.
  void block_sends(const std::string& id);
  void hide_state(const std::string& id);
  /// From now on agents announce this interval in their Hello; beat() makes them send.
  void announce_heartbeats(std::chrono::milliseconds interval);
  /// Called before remove() removes anything.
  void on_removing(std::function<void()> hook);
  /// Called in the middle of inspect(), before it looks.
  void on_inspecting(std::function<void()> hook);
  /// How many files its Envoy can watch.
  void limit_watches(const std::string& id, std::size_t watches);
  void make_outdated(const std::string& id);
  void assign_to_other_kindlb(const std::string& id);  ///< to another kindlb on this engine
  /// Called in the middle of list(), after it has looked: to make things happen meanwhile.
  void on_listing(std::function<void()> hook);
  /// Called once in the middle of create(), when the container is there but does not run yet.
  void on_creating(std::function<void()> hook);
  void on_event(Event event);

  // What happens outside of kindlb.
  std::string add_warm(const std::string& network);
  void break_channel(const std::string& id);
  void envoy_goes_down(const std::string& id, const std::string& why);
  void envoy_comes_up(const std::string& id);
  void die(const std::string& id);
  void vanish(const std::string& id);
  void pause(const std::string& id);
  void unpause(const std::string& id);
  void disconnect_network(const std::string& id);
  void connect_network(const std::string& id);
  /// The agent says nothing more, and goes on when thawed. `suspended`: by a signal, which the
  /// engine sees.
  void freeze(const std::string& id, bool suspended);
  void thaw(const std::string& id);
  /// As freeze(), but only on the channel that is open.
  void clog_stream(const std::string& id);
  /// Every agent that can sends one.
  void beat();
  void report_network_problem(const std::string& id, const std::string& problem);
  void give_unit(const std::string& id, const protocol::UnitState& unit);
  void forget_unit(const std::string& id, const std::string& unit);

  // Looking.
  std::vector<std::string> ids() const;
  std::size_t size() const { return ids().size(); }
  std::vector<protocol::UnitState> units_of(const std::string& id) const;
  /// Return the proxy that holds the unit; empty if none does.
  std::string holder_of(const std::string& unit) const;
  /// As the last Apply for the unit had them.
  std::vector<core::Route> routes_of(const std::string& unit) const;
  bool is_running(const std::string& id) const;
  bool is_connected(const std::string& id) const;
  std::string name_of(const std::string& id) const;

  void set_listener(Listener* listener) override;
  core::Result<std::vector<controller::HostedProxy>> list() override;
  core::Result<controller::HostedProxy> inspect(const std::string& id) override;
  core::Result<controller::HostedProxy> create(const std::string& network) override;
  core::Result<void> start(const std::string& id) override;
  core::Result<void> rename(const std::string& id, const std::string& owner,
                            const std::string& unit) override;
  core::Result<void> rename_shared(const std::string& id, const std::string& cluster,
                                   unsigned number) override;
  core::Result<void> remove(const std::string& id) override;
  core::Result<void> remove_orphans() override;
  core::Result<void> connect(const std::string& id) override;
  bool send(const std::string& id, const protocol::Message& message) override;
  void disconnect(const std::string& id) override;

 private:
  struct Box {
    controller::HostedProxy seen;
    protocol::EnvoyState envoy = protocol::EnvoyState::Live;
    std::map<std::string, protocol::UnitState> units;
    std::map<std::string, std::vector<core::Route>> routes;  ///< by unit
    bool connected = false;
    bool clogged = false;
    bool frozen = false;
    bool stream_hangs = false;
    std::string network_problem;
    bool state_hidden = false;
    std::size_t watches = protocol::kUsualWatches;
  };
  struct Refusal {
    protocol::RejectStage stage;
    std::string text;
  };

  std::optional<core::Error> enter(const std::string& operation, const std::string& subject);
  std::string insert(const std::string& network);
  std::vector<protocol::UnitState> units(const Box& box) const;
  bool can_speak(const std::string& id) const;
  protocol::Message answer(Box& box, const protocol::Apply& apply);
  protocol::Message answer(Box& box, const protocol::Release& release);
  std::vector<protocol::ProbeOutcome> run_probes(const protocol::Apply& apply) const;
  void deliver(const std::string& id, protocol::Message message);
  void close_channel(const std::string& id, const std::string& why);
  void publish_event(const std::string& action, const std::string& id);

  Journal& journal_;
  mutable std::mutex mutex_;
  std::mutex listener_mutex_;
  Listener* listener_ = nullptr;
  Event event_;
  std::function<void()> listing_;
  std::function<void()> creating_;
  std::function<void()> inspecting_;
  std::function<void()> removing_;
  std::chrono::milliseconds heartbeat_{0};
  std::map<std::string, Box> boxes_;
  std::map<std::string, std::deque<core::Error>> faults_;
  std::deque<Refusal> refusals_;
  std::set<core::IpAddress> occupied_;
  bool direct_blocked_ = false;
  bool muted_ = false;
  unsigned born_ = 0;
};

}  // namespace kindlb::testing

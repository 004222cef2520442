#pragma once
// The parts of an agent, composed as in Agent, with fakes in the place of the kernel, Envoy and
// clients: requests come in through `intake`, Envoy decides through `acks`, and `steps` tells what
// happened in which order.

#include "agent/fakes.hpp"
#include "envoy/envoy_updates.hpp"
#include "request_intake.hpp"
#include "support/fakes/manual_clock.hpp"
#include "support/temp_folder.hpp"

#include <optional>
#include <string>

namespace kindlb::testing {

struct AgentParts {
  test::TempFolder folder;
  ManualClock clock;
  agent::Loop loop{clock};
  Steps steps;
  FakeNetwork network{steps};
  FakeFilter filter{steps};
  FakeAcks acks{steps};
  agent::EnvoyLog log;
  agent::AddressChecks checks{loop, network};
  agent::CommittedUnits units{agent::UnitStore(folder / "units"), true};
  agent::Requests requests{
      loop,
      {.answer = [this](agent::ClientId, const protocol::Message& message) { note(message); },
       .timed_out = [this](agent::RequestKey key) { updates.request_timed_out(key); },
       .refused =
           [this](const protocol::Unit& unit) {
             const auto* committed = units.find(unit.unit);
             rules.quarantine(unit, committed == nullptr ? nullptr : &committed->unit);
           }}};
  agent::UdpRules rules{loop, filter, [this] { updates.remove_drained(); }};
  agent::NetworkSync sync{loop, network, rules, [this] {
                            return agent::WantedUnits{units.served(), requests.installed()};
                          }};
  agent::XdsPublisher xds;
  std::size_t watch_limit = 100;
  agent::EnvoyUpdates updates{loop,
                              acks,
                              watch_limit,
                              {.units = units,
                               .requests = requests,
                               .rules = rules,
                               .network = sync,
                               .xds = xds,
                               .log = log},
                              {.read_log = [] {},
                               .units_changed = [this] { steps.note("state"); },
                               .live = [this] { steps.note("live"); },
                               .own_listener_accepted = [this] { steps.note("own"); }}};
  agent::RequestIntake intake{loop, requests, checks, sync, [this] { updates.start_next(); }};

  explicit AgentParts(std::optional<protocol::Resource> own_listener = {})
      : xds(agent::XdsFiles(folder / "xds"), std::move(own_listener)) {}

  /// Envoy runs and serves what is committed.
  void go_live() {
    xds.start(units.snapshot());
    updates.envoy_started();
    agent::AckStatuses all;
    for (const auto* committed : units.served()) all[committed->unit.unit] = kAcked;
    acks.report(all);
    steps.take();
  }
  void crash() {
    updates.envoy_exited();
    updates.recover("killed by signal 9");
  }
  /// Let time pass, in steps of a millisecond; return what happened.
  std::string pass(std::chrono::milliseconds time) {
    for (; time.count() > 0; --time) {
      clock.advance(std::chrono::milliseconds(1));
      while (loop.run_due()) {
      }
    }
    return steps.take();
  }
  void apply(std::uint64_t id, const protocol::Unit& unit, std::vector<core::Probe> probes = {}) {
    intake.accept(1, protocol::Apply{.id = id, .unit = unit, .probes = std::move(probes)});
  }
  void release(std::uint64_t id, const std::string& unit) {
    intake.accept(1, protocol::Release{.id = id, .unit = unit});
  }
  /// Apply, and pass the address check: what happened since is not returned.
  void submit(std::uint64_t id, const protocol::Unit& unit) {
    apply(id, unit);
    pass(std::chrono::milliseconds(25));
  }
  /// Apply, and let Envoy accept it.
  void serve(std::uint64_t id, const protocol::Unit& unit) {
    submit(id, unit);
    acks.report({{unit.unit, kAcked}});
    steps.take();
  }
  /// "web@r1 dns@r2": what is committed.
  std::string committed() const {
    std::string out;
    for (const auto& state : units.states())
      out += (out.empty() ? "" : " ") + state.unit + "@" + state.revision;
    return out;
  }
  bool is_published(const std::string& listener) const {
    return xds.snapshot().listeners.contains(listener);
  }

 private:
  void note(const protocol::Message& message) {
    if (const auto* applied = std::get_if<protocol::Applied>(&message))
      steps.note("applied " + std::to_string(applied->id));
    if (const auto* rejected = std::get_if<protocol::Rejected>(&message))
      steps.note("rejected " + std::to_string(rejected->id) + ": " + rejected->text);
  }
};

}  // namespace kindlb::testing

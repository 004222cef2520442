#include "controller.hpp"

#include "background.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kEngineBackoff{std::chrono::milliseconds(100),
                                       std::chrono::milliseconds(1'000)};
/// How long clusters may take to list their Services, whose addresses must be known before new ones
/// are allocated. A cluster that does not answer must not block the others for longer.
constexpr std::chrono::seconds kAdoptionGrace{3};
constexpr std::chrono::seconds kDrainLimit{20};
/// After this, start-up is over: see Options::on_started_up.
constexpr std::chrono::seconds kStartupTime{10};

std::string attribute(const docker::Event& event, const std::string& name) {
  const auto found = event.attributes.find(name);
  return found == event.attributes.end() ? "" : found->second;
}

}  // namespace

Controller::Controller(docker::Engine& engine, ProxyHost& host, Options options,
                       const base::Clock& clock)
    : engine_(engine),
      host_(host),
      options_(std::move(options)),
      loop_(clock),
      engine_work_(4),
      api_work_(4),
      fleet_(
          loop_, engine_work_, host, options_.fleet,
          {.changed = [this](const std::string& unit) { reconciler_.unit_changed(unit); },
           .claim_failed = [this](const std::string& unit,
                                  const core::Error& why) { reconciler_.claim_failed(unit, why); },
           .discovered = [this] { reconciler_.plan_all(); }}),
      networks_(loop_, engine_work_, engine.networks(),
                [this](const std::string& name) { reconciler_.network_changed(name); }),
      reconciler_({loop_, api_work_, fleet_, networks_, options_.policy, clock}),
      discovery_({loop_, engine_work_, engine, fleet_, networks_, reconciler_}) {
  host.set_listener(&fleet_);
}

Controller::~Controller() {
  // Background work and agents refer to members: stop them before the members are destroyed.
  host_.set_listener(nullptr);
  engine_work_.stop();
  api_work_.stop();
}

void Controller::run(const std::stop_token& stop) {
  if (options_.only) discovery_.serve_only(*options_.only);
  engine_watch_ = std::jthread([this](const std::stop_token& inner) { watch_engine(inner); });
  loop_.after(kAdoptionGrace, [this] { reconciler_.open_allocation(); });
  if (options_.on_started_up) loop_.after(kStartupTime, options_.on_started_up);
  loop_.run(stop);
  if (options_.delete_on_exit) drain_until(loop_.now() + kDrainLimit);
  engine_watch_.request_stop();
  discovery_.disconnect();
  engine_watch_.join();
}

void Controller::drain_until(Loop::TimePoint deadline) {
  log::info("releasing every Service (--on-exit delete)");
  std::stop_source done;
  const std::function<void()> check = [&] {
    const bool done_all = reconciler_.drained() && !fleet_.has_warm();
    if (done_all || loop_.now() >= deadline)
      done.request_stop();
    else
      loop_.after(std::chrono::milliseconds(50), check);
  };
  loop_.post([&] {
    fleet_.keep_warm_on({});
    reconciler_.drain();
    check();
  });
  loop_.run(done.get_token());
}

// ---- the engine --------------------------------------------------------------------------------

/// Runs on a thread of its own: the event stream blocks. Reconnects with back-off, and warns once.
void Controller::watch_engine(const std::stop_token& stop) {
  unsigned failures = 0;
  while (!stop.stop_requested()) {
    const auto result = engine_.system().events(
        [&] {
          failures = 0;
          loop_.post([this] { on_engine_connected(); });
        },
        [this](const docker::Event& event) {
          loop_.post([this, event] { on_engine_event(event); });
        },
        stop);
    if (stop.stop_requested()) return;
    if (failures == 0)
      log::warn("docker engine: lost the event stream{}; reconnecting",
                result.ok() ? "" : ": " + result.error().text());
    wait_for(loop_, stop, core::delay_before(failures++, kEngineBackoff, 0.5));
  }
}

/// The event stream is open, for the first time or again. Events in between are lost, so everything
/// is looked at anew.
void Controller::on_engine_connected() {
  networks_.refresh_all();
  fleet_.discover();
  discovery_.on_engine_connected();
  reconciler_.retry_now();
}

void Controller::on_engine_event(const docker::Event& event) {
  if (event.type == "container") return on_container_event(event);
  if (event.type != "network" || (event.action != "connect" && event.action != "disconnect"))
    return;
  const auto id = attribute(event, "container");
  event.action == "connect" ? fleet_.container_connected(id) : fleet_.container_disconnected(id);
  networks_.refresh_all_soon();
}

void Controller::on_container_event(const docker::Event& event) {
  if (!attribute(event, proxy::kProxyLabel).empty()) {
    if (event.action == "start") fleet_.container_started(event.id);
    if (event.action == "die") fleet_.container_died(event.id);
    if (event.action == "destroy") fleet_.container_destroyed(event.id);
    if (event.action == "pause") fleet_.container_paused(event.id);
    if (event.action == "unpause") fleet_.container_unpaused(event.id);
    return;
  }
  // A container that stops may free the address or port that a Service waits for.
  if (event.action == "die" || event.action == "destroy") reconciler_.retry_now();
  if (!attribute(event, kKindClusterLabel).empty()) discovery_.on_node_event(event);
}

}  // namespace kindlb::controller

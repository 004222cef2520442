#include "controller/harness.hpp"

#include "kindlb/core/conditions.hpp"
#include "kindlb/log/log.hpp"

namespace kindlb::test {

using core::Service;

namespace {

/// Only work that never ends makes a test wait this long.
constexpr std::chrono::seconds kHanging{60};

/// What kindlb says of itself is not what these tests look at.
const bool kQuiet = [] {
  log::configure("off", log::Format::Human);
  return true;
}();

}  // namespace

// ---- time --------------------------------------------------------------------------------------

void LoopThread::stop() {
  thread_ = {};
  engine_work_.stop();
  api_work_.stop();
}

bool LoopThread::wait_until(const std::function<bool()>& holds) {
  return wait(holds, clock_.now() + kPatience) == Seen::Holds;
}

void LoopThread::pass(std::chrono::milliseconds duration) {
  const auto end = clock_.now() + duration;
  wait([] { return false; }, end);
  on_loop(
      [&] { clock_.advance(std::chrono::ceil<std::chrono::milliseconds>(end - clock_.now())); });
}

LoopThread::Seen LoopThread::wait(const std::function<bool()>& holds,
                                  controller::Loop::TimePoint limit) {
  const bool in_pool = std::this_thread::get_id() != owner_;
  if (in_pool) {
    const std::lock_guard lock(looking_);
    ++waiting_in_pools_;
  }
  const auto hanging = base::machine_clock().now() + kHanging;
  for (;;) {
    const auto seen = look(holds, limit, in_pool);
    if (seen != Seen::Busy) return seen;
    REQUIRE(base::machine_clock().now() < hanging);
    std::this_thread::yield();
  }
}

/// One thread at a time, since the question of one would look like work to another; work in a pool
/// goes first, since the test waits for its end. Whether anything is under way is asked before
/// `holds`: if nothing is, what `holds` sees cannot change by itself, and only then time may leap.
LoopThread::Seen LoopThread::look(const std::function<bool()>& holds,
                                  controller::Loop::TimePoint limit, bool in_pool) {
  std::unique_lock lock(looking_);
  if (!in_pool) turn_.wait(lock, [this] { return waiting_in_pools_ == 0; });
  const auto seen = on_loop([&] {
    const bool idle = engine_work_.busy() + api_work_.busy() == waiting_in_pools_;
    if (holds()) return Seen::Holds;
    const auto next = loop_.next_due();
    if (!idle || next == clock_.now()) return Seen::Busy;
    if (!next || *next > limit) return Seen::Nothing;
    clock_.advance(std::chrono::ceil<std::chrono::milliseconds>(*next - clock_.now()));
    return Seen::Busy;
  });
  if (in_pool && seen != Seen::Busy) --waiting_in_pools_;
  turn_.notify_one();
  return seen;
}

// ---- proxies -----------------------------------------------------------------------------------

void tell_event(controller::Fleet& fleet, const std::string& action, const std::string& id) {
  if (action == "start") fleet.container_started(id);
  if (action == "die") fleet.container_died(id);
  if (action == "destroy") fleet.container_destroyed(id);
  if (action == "pause") fleet.container_paused(id);
  if (action == "unpause") fleet.container_unpaused(id);
  if (action == "connect") fleet.container_connected(id);
  if (action == "disconnect") fleet.container_disconnected(id);
}

void send_heartbeats(controller::Loop& loop, testing::FakeProxyHost& host) {
  host.announce_heartbeats(protocol::kHeartbeatInterval);
  loop.after(protocol::kHeartbeatInterval, [&loop, &host] {
    host.beat();
    send_heartbeats(loop, host);
  });
}

// ---- the world ---------------------------------------------------------------------------------

FakeWorld::FakeWorld() {
  engine.networks().add({.name = "kind", .subnets = {{cidr("172.18.0.0/24"), ip("172.18.0.1")}}});
  add_cluster("kind");
}

testing::FakeKube& FakeWorld::add_cluster(const std::string& name, const std::string& network) {
  auto api = std::make_shared<testing::FakeKube>(journal, name);
  api->put_node(a_node("node-a", "172.18.0.2"));
  api->put_node(a_node("node-b", "172.18.0.3"));
  clusters[name] = {network, api};
  return *api;
}

Service FakeWorld::add_service(const Service& service) {
  kube().put_slice(a_slice()
                       .of(service)
                       .called(service.key.name + "-1")
                       .ready("10.244.0.5", "node-a")
                       .ready("10.244.1.5", "node-b"));
  return kube().create(service);
}

void FakeWorld::add_port() {
  auto changed = service();
  changed.spec.ports.push_back({.name = "p81", .port = 81, .target_port = "8081"});
  kube().edit("default/web", [&](Service& web) { web.spec.ports = changed.spec.ports; });
  kube().put_slice(a_slice()
                       .of(changed)
                       .called("web-1")
                       .ready("10.244.0.5", "node-a")
                       .ready("10.244.1.5", "node-b"));
}

std::string FakeWorld::serving(const std::string& name) {
  const auto conditions = service(name).status.conditions;
  const auto* found = core::find_condition(conditions, core::kServingCondition);
  if (found == nullptr) return "absent";
  return (found->status == core::ConditionStatus::True ? "True/" : "False/") + found->reason;
}

std::string FakeWorld::address(const std::string& name) {
  const auto ingress = service(name).status.ingress;
  return ingress.empty() ? "" : ingress.front().ip;
}

// ---- kindlb ------------------------------------------------------------------------------------

Kindlb::Kindlb(FakeWorld& world, Options options)
    : world_(world),
      options_(std::move(options)),
      thread_(world.clock),
      fleet_(
          thread_.loop(), thread_.engine_work(), world.host,
          {.warm_proxies = options_.warm_proxies,
           .services_per_proxy = options_.services_per_proxy},
          {.changed = [this](const std::string& unit) { reconciler_.unit_changed(unit); },
           .claim_failed = [this](const std::string& unit,
                                  const core::Error& why) { reconciler_.claim_failed(unit, why); },
           .discovered = [this] { reconciler_.plan_all(); }}),
      networks_(thread_.loop(), thread_.engine_work(), world.engine.networks(),
                [this](const std::string& name) { reconciler_.network_changed(name); }),
      reconciler_(
          {thread_.loop(), thread_.api_work(), fleet_, networks_, options_.policy, world.clock}) {
  world.host.set_listener(&fleet_);
  world.host.on_event([this](const std::string& action, const std::string& id) {
    loop().post([this, action, id] { tell_event(fleet_, action, id); });
  });
  if (options_.heartbeats) send_heartbeats(loop(), world.host);
  // Before the thread runs: the loop's part of the world is still ours to touch.
  std::set<std::string> networks;
  for (const auto& [name, cluster] : world.clusters) {
    reconciler_.add_cluster(name, cluster.network, cluster.api);
    networks.insert(cluster.network);
  }
  fleet_.keep_warm_on(networks);
  fleet_.discover();
  thread_.start();
  for (const auto& [name, cluster] : world.clusters)
    if (!options_.unwatched.contains(name)) watch(name);
}

void Kindlb::watch(const std::string& cluster) {
  world_.clusters.at(cluster).api->watch([this, cluster](testing::FakeKube::Edit edit) {
    loop().post([this, cluster, edit = std::move(edit)] { reconciler_.update(cluster, edit); });
  });
}

Kindlb::~Kindlb() {
  for (const auto& [name, cluster] : world_.clusters) cluster.api->watch(nullptr);
  world_.host.on_event(nullptr);
  world_.host.set_listener(nullptr);
  thread_.stop();
}

bool Kindlb::is_calm() const {
  if (!fleet_.discovered() || fleet_.warm_count() < options_.warm_proxies) return false;
  for (const auto& id : world_.host.ids())
    if (world_.host.is_running(id) && !world_.host.is_connected(id)) return false;
  return true;
}

bool Kindlb::wait_quiet() {
  const auto limit = world_.clock.now() + kPatience;
  const auto calm_or_dead = [this] { return is_calm() || world_.journal.dead(); };
  while (wait_until(calm_or_dead) && !world_.journal.dead() && world_.clock.now() < limit) {
    const auto seen = world_.journal.size();
    pass(std::chrono::seconds(1));
    if (world_.journal.size() == seen && on_loop([this] { return is_calm(); })) return true;
  }
  return false;
}

}  // namespace kindlb::test

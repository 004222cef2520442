#include "controller/harness.hpp"

#include "kindlb/core/conditions.hpp"
#include "kindlb/log/log.hpp"

namespace kindlb::test {

using core::Service;

namespace {

struct Question {
  controller::Loop& loop;
  const std::function<bool()>& holds;
  std::promise<bool> answer;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + kPatience;
};

void ask(const std::shared_ptr<Question>& question) {
  if (question->holds()) return question->answer.set_value(true);
  if (std::chrono::steady_clock::now() > question->deadline)
    return question->answer.set_value(false);
  question->loop.after(std::chrono::milliseconds(kHurry), [question] { ask(question); });
}

/// What kindlb says of itself is not what these tests look at.
const bool kQuiet = [] {
  log::configure("off", log::Format::Human);
  return true;
}();

}  // namespace

bool LoopThread::wait_until(const std::function<bool()>& holds) {
  const auto question = std::make_shared<Question>(Question{loop_, holds, {}});
  auto answer = question->answer.get_future();
  loop_.post([question] { ask(question); });
  return answer.get();
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

/// As fast as the delays pass.
static core::Timestamp hurried_clock() {
  static const auto kBegin = std::chrono::system_clock::now();
  return std::chrono::floor<std::chrono::seconds>(
      kBegin + (std::chrono::system_clock::now() - kBegin) * kHurry);
}

Kindlb::Kindlb(FakeWorld& world, Options options)
    : world_(world),
      options_(std::move(options)),
      fleet_(
          thread_.loop(), engine_work_, world.host, {.warm_proxies = options_.warm_proxies},
          {.changed = [this](const std::string& unit) { reconciler_.unit_changed(unit); },
           .claim_failed = [this](const std::string& unit,
                                  const core::Error& why) { reconciler_.claim_failed(unit, why); },
           .discovered = [this] { reconciler_.plan_all(); }}),
      networks_(thread_.loop(), engine_work_, world.engine.networks(),
                [this](const std::string& name) { reconciler_.network_changed(name); }),
      reconciler_({thread_.loop(), api_work_, fleet_, networks_, options_.policy, hurried_clock}) {
  world.host.set_listener(&fleet_);
  world.host.on_event([this](const std::string& action, const std::string& id) {
    loop().post([this, action, id] {
      if (action == "start") fleet_.container_started(id);
      if (action == "die") fleet_.container_died(id);
      if (action == "destroy") fleet_.container_destroyed(id);
    });
  });
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
  engine_work_.stop();
  api_work_.stop();
}

bool Kindlb::is_calm() const {
  if (!fleet_.discovered() || fleet_.warm_count() < options_.warm_proxies) return false;
  for (const auto& id : world_.host.ids())
    if (world_.host.is_running(id) && !world_.host.is_connected(id)) return false;
  return true;
}

bool Kindlb::wait_quiet() {
  std::size_t seen = 0;
  int rounds = 0;
  return wait_until([&] {
    const auto now = world_.journal.size();
    rounds = is_calm() && now == seen ? rounds + 1 : 0;
    seen = now;
    return rounds > 5;
  });
}

}  // namespace kindlb::test

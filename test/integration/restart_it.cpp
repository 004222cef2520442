// What people and crashes do to kindlb, to Envoy and to containers, and that clients hardly notice.
#include "integration/stage.hpp"
#include "integration/traffic.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"

#include <signal.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

namespace {

using namespace kindlb;
using it::kServing;
using it::Stage;
using it::told;
using testing::http_get;
using testing::must;
using testing::OneAnswer;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kHealing = "Serving=False/Infrastructure Provisioning=True/Provisioning";
const std::vector<std::string> kHealed = {kHealing, kServing};

/// Services web-1, web-2, ... with one backend, served.
class Served {
 public:
  Served(Stage& stage, int count) : stage_(stage), backend_(stage.gateway(), "hello") {
    for (int i = 1; i <= count; ++i) {
      const auto name = "web-" + std::to_string(i);
      stage.put_endpoints(name, {{"", backend_.target().port}});
      stage.create_web(name);
    }
    for (int i = 1; i <= count; ++i) note(stage.await_serving("web-" + std::to_string(i)));
  }

  std::vector<core::Target> targets() const {
    std::vector<core::Target> out;
    for (const auto& service : services) out.push_back(it::target_of(service));
    return out;
  }

  void check_untouched() {
    for (std::size_t i = 0; i < services.size(); ++i) {
      CAPTURE(services[i].key.name);
      CHECK(stage_.get(services[i].key.name) == services[i]);
      const auto holder = stage_.proxy_of(services[i]);
      REQUIRE(holder);
      CHECK(holder->id == holders[i].id);
    }
  }

  std::vector<core::Service> services;
  std::vector<proxy::Proxy> holders;

 private:
  void note(core::Service service) {
    stage_.until("the proxy has its name", [&] { return stage_.proxy_of(service).has_value(); });
    holders.push_back(*stage_.proxy_of(service));
    services.push_back(std::move(service));
  }

  Stage& stage_;
  OneAnswer backend_;
};

/// How long until the Service answers again, after the hurt was done.
std::chrono::milliseconds outage(const core::Target& target) {
  const auto start = Clock::now();
  while (http_get(target, 500ms) != "hello") {
    REQUIRE(Clock::now() - start < it::kPatience);
    std::this_thread::sleep_for(5ms);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

/// Failure, then serving, with the address unchanged.
void check_healed(Stage& stage, const core::Service& before, std::size_t seen) {
  const auto& name = before.key.name;
  const auto hurt = stage.await(
      name, [](const auto& s) { return told(s) == kHealing; }, seen);
  CHECK(hurt.status.ingress == before.status.ingress);
  const auto healed = stage.await(
      name,
      [&](const auto& s) {
        return it::is_serving(s) && s.resource_version != before.resource_version;
      },
      seen);
  CHECK(healed.status.ingress == before.status.ingress);
  CHECK(http_get(it::target_of(healed)) == "hello");
  CHECK(told(stage.diary().pages(name, seen)) == kHealed);
}

}  // namespace

TEST_CASE("kindlb comes and goes, and nobody notices") {
  Stage stage;
  stage.start();
  Served served(stage, 3);
  stage.until("the pool is full again", [&] { return stage.proxies().size() == 4; });
  it::Poller client(served.targets(), "hello");

  SUBCASE("told to stop") {
    CHECK(stage.stop(SIGTERM, 2s) == 0);
  }
  SUBCASE("Ctrl-C") {
    CHECK(stage.stop(SIGINT, 2s) == 0);
  }
  SUBCASE("killed") {
    CHECK(stage.stop(SIGKILL) == 128 + SIGKILL);
  }
  const auto answered = client.answers();
  stage.until("it serves alone", [&] { return client.answers() > answered + 30; });
  stage.start();
  stage.serve_another();
  served.check_untouched();

  const auto settled = client.answers();
  stage.until("it still serves", [&] { return client.answers() > settled + 30; });
  CHECK(client.failures() == std::vector<std::string>{});
}

TEST_CASE("an Envoy that crashes is back at once, and that is told") {
  Stage stage;
  stage.start();
  Served served(stage, 1);
  SUBCASE("under the kindlb that set it up") {}
  SUBCASE("under a kindlb that adopted it") {
    CHECK(stage.stop(SIGKILL) == 128 + SIGKILL);
    stage.start();
    stage.serve_another();
  }
  const auto seen = stage.diary().count("web-1");
  stage.kill_envoy(served.holders[0]);
  CHECK(outage(it::target_of(served.services[0])) < 5s);
  check_healed(stage, served.services[0], seen);
  CHECK(stage.proxy_of(served.services[0])->id == served.holders[0].id);
}

TEST_CASE("a proxy container that is removed is replaced, with its address") {
  Stage stage;
  stage.start();
  Served served(stage, 1);
  const auto seen = stage.diary().count("web-1");
  must(stage.rig.engine().containers().remove(served.holders[0].id));
  CHECK(outage(it::target_of(served.services[0])) < 10s);
  check_healed(stage, served.services[0], seen);
  stage.until("another has its name",
              [&] { return stage.proxy_of(served.services[0]).has_value(); });
  CHECK(stage.proxy_of(served.services[0])->id != served.holders[0].id);
  stage.until("no volume is left behind",
              [&] { return !stage.volume_exists(served.holders[0].volume); });
}

TEST_CASE("a proxy container that stops is started again") {
  Stage stage;
  stage.start();
  Served served(stage, 1);
  const auto seen = stage.diary().count("web-1");
  must(stage.rig.engine().containers().kill(served.holders[0].id, "KILL"));
  CHECK(outage(it::target_of(served.services[0])) < 10s);
  check_healed(stage, served.services[0], seen);
  CHECK(stage.proxy_of(served.services[0])->id == served.holders[0].id);
}

TEST_CASE("a restarted proxy serves without kindlb") {
  Stage stage;
  stage.start();
  Served served(stage, 1);
  CHECK(stage.stop(SIGTERM, 2s) == 0);
  must(stage.rig.engine().containers().stop(served.holders[0].id, 5s));
  CHECK(http_get(it::target_of(served.services[0]), 500ms) != "hello");
  must(stage.rig.engine().containers().start(served.holders[0].id));
  CHECK(outage(it::target_of(served.services[0])) < 10s);

  stage.start();
  stage.serve_another();
  served.check_untouched();
}

TEST_CASE("changes made while kindlb was away are caught up with") {
  Stage stage;
  stage.start();
  Served served(stage, 2);
  CHECK(stage.stop(SIGTERM, 2s) == 0);
  stage.remove("web-1");
  const OneAnswer newcomer(stage.gateway(), "new");
  stage.put_endpoints("web-2", {{"", newcomer.target().port}});
  stage.put_endpoints("web-3", {{"", newcomer.target().port}});
  stage.create_web("web-3");
  stage.start();
  CHECK(stage.diary().wait_gone("web-1", it::kPatience));
  CHECK_FALSE(stage.proxy_of(served.services[0]));
  CHECK_FALSE(stage.volume_exists(served.holders[0].volume));
  const auto third = stage.await_serving("web-3");
  CHECK(http_get(it::target_of(third)) == "new");
  CHECK(third.status.ingress != served.services[1].status.ingress);
  stage.until("traffic moves",
              [&] { return http_get(it::target_of(served.services[1])) == "new"; });
  CHECK(stage.version_of("web-2") == served.services[1].resource_version);
}

TEST_CASE("--on-exit delete lets everything go") {
  Stage stage;
  stage.start({"--on-exit", "delete"});
  Served served(stage, 2);
  CHECK(stage.stop(SIGTERM, 30s) == 0);
  for (const auto& service : served.services) {
    CAPTURE(service.key.name);
    const auto after = stage.get(service.key.name);
    CHECK(after.status == core::ServiceStatus{});
    CHECK_FALSE(core::has_finalizer(after));
    CHECK_FALSE(core::was_ours(after));
  }
  CHECK(stage.proxies().empty());
  for (const auto& holder : served.holders) CHECK_FALSE(stage.volume_exists(holder.volume));
}

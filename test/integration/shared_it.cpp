// Many Services on few proxies (--services-per-proxy 0): nobody notices the others.
#include "integration/stage.hpp"
#include "integration/traffic.hpp"
#include "support/traffic/backend.hpp"
#include "support/traffic/load.hpp"

#include <signal.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace {

using namespace kindlb;
using it::Stage;
using testing::http_get;
using testing::must;
using testing::OneAnswer;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

const it::Flags kShared = {"--services-per-proxy", "0"};

std::string name_of(int i) {
  return "web-" + std::to_string(i);
}

/// Services web-0, web-1, ... created at once, with one backend.
class Crowd {
 public:
  Crowd(Stage& stage, int count) : stage_(stage), backend_(stage.gateway(), "hello") {
    for (int i = 0; i < count; ++i) {
      stage.put_endpoints(name_of(i), {{"", backend_.target().port}});
      stage.create_web(name_of(i));
    }
    for (int i = 0; i < count; ++i) services.push_back(stage.await_serving(name_of(i)));
  }

  std::vector<core::Target> targets() const {
    std::vector<core::Target> out;
    for (const auto& service : services) out.push_back(it::target_of(service));
    return out;
  }
  void check_all_answer() const {
    for (const auto& target : targets()) CHECK(http_get(target) == "hello");
  }
  /// The API holds what it held: nobody has written anything.
  void check_untouched() {
    for (const auto& service : services) CHECK(stage_.get(service.key.name) == service);
  }

  std::vector<core::Service> services;

 private:
  Stage& stage_;
  OneAnswer backend_;
};

}  // namespace

TEST_CASE("thirty Services created at once share one proxy, and all answer") {
  Stage stage;
  stage.start(kShared);
  stage.serve_another();  // the pool is warm
  const auto begin = Clock::now();
  Crowd crowd(stage, 30);
  MESSAGE("served after "
          << std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count()
          << " ms");
  crowd.check_all_answer();
  std::set<core::IpAddress> addresses;
  for (const auto& target : crowd.targets()) addresses.insert(target.address);
  CHECK(addresses.size() == 30);
  const auto held = stage.holders();
  REQUIRE(held.size() == 1);
  CHECK(held.begin()->second.size() == 31);
  const auto proxies = stage.proxies();
  const auto shared = std::ranges::find(proxies, held.begin()->first, &proxy::Proxy::id);
  REQUIRE(shared->role);
  CHECK(shared->role->role == proxy::Role::Shared);

  SUBCASE("one leaves, the others stay") {
    stage.remove(name_of(7));
    REQUIRE(stage.diary().wait_gone(name_of(7), it::kPatience));
    CHECK(stage.holders().begin()->second.size() == 30);
    const auto gone = it::target_of(crowd.services[7]);
    CHECK(http_get(gone, 300ms) != "hello");
    CHECK(http_get(it::target_of(crowd.services[8])) == "hello");
  }
  SUBCASE("all leave, and the proxy with them") {
    for (int i = 0; i < 30; ++i) stage.remove(name_of(i));
    stage.remove("another-1");
    for (int i = 0; i < 30; ++i) REQUIRE(stage.diary().wait_gone(name_of(i), it::kPatience));
    stage.until("the proxy is gone", [&] { return stage.holders().empty(); });
  }
}

TEST_CASE("fifty others come to the same proxy, and a client of the first does not notice") {
  Stage stage;
  stage.start(kShared);
  testing::Backend backend(stage.gateway(), "first");
  stage.put_endpoints("first", {{"", backend.port()}});
  stage.create_web("first");
  const auto first = stage.await_serving("first");
  testing::Load load({.target = it::target_of(first), .per_second = 200, .lasting = 10});
  REQUIRE(load.go_on(100));
  {
    Crowd crowd(stage, 50);
    CHECK(stage.holders().size() == 1);
    REQUIRE(load.go_on(100));
    for (int i = 0; i < 50; i += 2) stage.remove(name_of(i));
    for (int i = 0; i < 50; i += 2) REQUIRE(stage.diary().wait_gone(name_of(i), it::kPatience));
  }
  REQUIRE(load.go_on(100));
  const auto report = load.finish();
  CHECK_MESSAGE(report.failures.empty(), report.text());
  MESSAGE(report.connections << " connections, " << report.exchanges << " exchanges");
}

TEST_CASE("kindlb is killed and comes back: shared proxies are adopted without a write") {
  Stage stage;
  stage.start(kShared);
  Crowd crowd(stage, 20);  // more than a link can tell of
  const auto before = stage.holders();
  it::Poller client(crowd.targets(), "hello");
  CHECK(stage.stop(SIGKILL) == 128 + SIGKILL);
  stage.start(kShared);
  stage.serve_another();
  crowd.check_untouched();
  auto after = stage.holders();
  REQUIRE(after.size() == 1);
  CHECK(after.begin()->first == before.begin()->first);
  CHECK(after.begin()->second.size() == 21);
  CHECK(client.answers() > 0);
  CHECK(client.failures() == std::vector<std::string>{});
}

TEST_CASE("a shared proxy that is removed by force comes back with everybody") {
  Stage stage;
  stage.start(kShared);
  Crowd crowd(stage, 12);
  std::map<std::string, std::size_t> seen;
  for (const auto& service : crowd.services)
    seen[service.key.name] = stage.diary().count(service.key.name);
  const auto held = stage.holders();
  REQUIRE(held.size() == 1);
  must(stage.rig.engine().containers().remove(held.begin()->first));
  for (const auto& service : crowd.services) {
    const auto healed = stage.await(
        service.key.name,
        [&](const auto& s) {
          return it::is_serving(s) && s.resource_version != service.resource_version;
        },
        seen.at(service.key.name));
    CHECK(healed.status.ingress == service.status.ingress);
  }
  crowd.check_all_answer();
  CHECK(stage.holders().size() == 1);
}

// Proxies that run while nobody gets through.
#include "integration/served.hpp"
#include "kindlb/core/conditions.hpp"
#include "support/traffic/ask.hpp"

#include <signal.h>

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

using namespace kindlb;
using it::Served;
using it::Stage;
using it::told;
using testing::must;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kHealing = "Serving=False/Infrastructure Provisioning=True/Provisioning";

struct Fault {
  const char* name;
  void (*begin)(Stage& stage, const std::string& id);
  const char* text;
};

void docker(const std::string& arguments) {
  const auto command = "docker " + arguments + " >/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(concurrency-mt-unsafe)
}

const std::vector<Fault> kFaults = {
    {"paused", [](Stage&, const std::string& id) { docker("pause " + id); },
     "its container is paused"},
    {"disconnected from its network",
     [](Stage& stage, const std::string& id) {
       docker("network disconnect " + stage.network() + " " + id);
     },
     "network"},  // in the words of the engine's event or of the agent, whichever is faster
    {"stopped by a signal",
     [](Stage& stage, const std::string& id) {
       const auto pid = must(stage.rig.engine().containers().inspect(id)).pid;
       REQUIRE(::kill(static_cast<pid_t>(pid), SIGSTOP) == 0);
     },
     "its agent was stopped by a signal"}};

std::string message(const core::Service& service) {
  return core::find_condition(service.status.conditions, core::kServingCondition)->message;
}

/// What conditions promise in 5 and 10 s, on a machine that may be three times as slow.
void check_healed(Stage& stage, const Served& served, const Fault& fault) {
  CAPTURE(fault.name);
  const auto before = stage.get(served.name());
  const auto holders = stage.holders();
  REQUIRE(holders.size() == 1);
  const auto broken = holders.begin()->first;
  const auto volume =
      must(proxy::inspect_proxy(stage.rig.engine().containers(), broken)).proxy.volume;
  const auto seen = stage.diary().count(served.name());

  const auto begin = Clock::now();
  fault.begin(stage, broken);
  const auto hurt = stage.await(
      served.name(), [](const auto& s) { return told(s) == kHealing; }, seen);
  CHECK(Clock::now() - begin < 15s);
  CHECK(message(hurt).find(fault.text) != std::string::npos);
  CHECK(hurt.status.ingress == before.status.ingress);

  const auto healed = stage.await(
      served.name(),
      [&](const auto& s) {
        return it::is_serving(s) && s.resource_version != before.resource_version;
      },
      seen);
  CHECK(Clock::now() - begin < 30s);
  CHECK(healed.status.ingress == before.status.ingress);
  CHECK(testing::ask_tcp(served.target(), "x") == "one x");
  CHECK(told(stage.diary().pages(served.name(), seen)) ==
        std::vector<std::string>{kHealing, it::kServing});
  CHECK_FALSE(stage.holders().contains(broken));
  stage.until("no volume is left behind", [&] { return !stage.volume_exists(volume); });
}

}  // namespace

TEST_CASE("a proxy that runs while nobody gets through is replaced, with its address") {
  Stage stage;
  SUBCASE("one Service each") {
    stage.start();
  }
  SUBCASE("shared") {
    stage.start({"--services-per-proxy", "0"});
  }
  Served served(stage);
  served.add("one");
  served.create(it::mixed_spec());
  for (const auto& fault : kFaults) check_healed(stage, served, fault);
}

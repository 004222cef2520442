// Misbehaviour on demand: what the conditions say is what a client meets.
#include "integration/served.hpp"
#include "kindlb/core/conditions.hpp"
#include "support/traffic/ask.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace {

using namespace kindlb;
using it::kServing;
using it::Served;
using it::told;

std::string annotation(const std::string& name, const std::string& value) {
  return fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", name, value);
}

bool answers(const Served& served) {
  return testing::ask_tcp(served.target(), "x") == "one x";
}

}  // namespace

TEST_CASE("an infrastructure fault stops the service and keeps its address") {
  auto& stage = it::shared_stage();
  Served served(stage);
  served.add("one");
  const auto before = served.create(it::mixed_spec());
  auto seen = stage.diary().count(served.name());
  stage.patch(served.name(), annotation("kindlb.dev/fault-infrastructure", "\"quota exceeded\""));
  const auto failed = stage.await(
      served.name(),
      [](const auto& s) {
        return told(s) == "Serving=False/Infrastructure Provisioning=False/Complete";
      },
      seen);
  CHECK(failed.status.ingress == before.status.ingress);
  CHECK(core::find_condition(failed.status.conditions, core::kServingCondition)->message ==
        "quota exceeded");
  stage.until("nobody answers any more", [&] { return !answers(served); });

  seen = stage.diary().count(served.name());
  stage.patch(served.name(), annotation("kindlb.dev/fault-infrastructure", "null"));
  const auto again = stage.await_serving(served.name(), seen);
  CHECK(again.status.ingress == before.status.ingress);
  CHECK(answers(served));
}

TEST_CASE("an update that interrupts and takes its time") {
  auto& stage = it::shared_stage();
  Served served(stage);
  served.add("one");
  served.create(it::mixed_spec(), {{"kindlb.dev/fault-interrupt-on-update", "true"}});
  const auto seen = stage.diary().count(served.name());
  stage.patch(served.name(), R"({"metadata":{"annotations":
      {"kindlb.dev/fault-provisioning-delay":"3s"}},"spec":{"sessionAffinity":"ClientIP"}})");
  stage.await(
      served.name(),
      [](const auto& s) {
        return told(s) == "Serving=False/Provisioning Provisioning=True/Provisioning";
      },
      seen);
  stage.until("the listeners are closed", [&] { return !answers(served); });
  const auto after = stage.await_serving(served.name(), stage.diary().count(served.name()));
  CHECK(told(after) == kServing);
  CHECK(answers(served));
}

TEST_CASE("a capability that is missing on demand degrades; a wish that makes no sense is named") {
  auto& stage = it::shared_stage();
  Served served(stage);
  served.add("one");
  const auto service = served.create(it::mixed_spec(R"(,"sessionAffinity":"ClientIP")"),
                                     {{"kindlb.dev/fault-unsupported", "SessionAffinity,Ports"},
                                      {"kindlb.dev/fault-provisioning-delay", "soon"}});
  CHECK(told(service) == std::string(kServing) + " Degraded=True/Multiple");
  const auto& ports = service.status.ingress.at(0).ports;
  REQUIRE(ports.size() == 2);
  CHECK(ports[0].error.empty());
  CHECK(ports[1].error == "kindlb.dev/PortsNotSupported");
  stage.await_events(served.name(), {"Degraded", "InvalidAnnotation"});
}

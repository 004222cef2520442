// What the demo says about Services.
#include "service_text.hpp"

#include <doctest/doctest.h>

namespace {

using namespace kindlb;
using core::Condition;
using core::ConditionStatus;
using core::Protocol;
using core::Service;
using Lines = std::vector<std::string>;

constexpr core::Timestamp kNoon{std::chrono::hours(12)};

Condition condition(const char* type, bool value, const char* reason,
                    core::Timestamp time = kNoon) {
  return {type, value ? ConditionStatus::True : ConditionStatus::False, reason, "", time};
}

Service web() {
  Service service;
  service.key = {"sandbox", "default", "web"};
  service.spec.type = core::ServiceType::LoadBalancer;
  service.spec.ports = {{"http", Protocol::Tcp, 80, "8080", 0}};
  return service;
}

Service working() {
  auto service = web();
  service.status.conditions = {condition(core::kServingCondition, false, "Provisioning"),
                               condition(core::kProvisioningCondition, true, "Provisioning")};
  return service;
}

Service serving(core::Timestamp since = kNoon) {
  auto service = web();
  service.status.conditions = {condition(core::kServingCondition, true, "Serving", since),
                               condition(core::kProvisioningCondition, false, "Complete")};
  service.status.ingress = {{"203.0.113.254", "", "Proxy", {{80, Protocol::Tcp, ""}}}};
  return service;
}

Service degraded() {
  auto service = serving();
  service.spec.ports.push_back({"sctp", Protocol::Sctp, 99, "99", 0});
  service.status.ingress[0].ports.push_back({99, Protocol::Sctp, "kindlb.dev/PortsNotSupported"});
  service.status.conditions.push_back(
      condition(core::kDegradedCondition, true, "PortsNotSupported"));
  return service;
}

}  // namespace

TEST_CASE("conditions in short") {
  CHECK(demo::conditions_text(web()).empty());
  CHECK(demo::conditions_text(working()) == "Serving=False/Provisioning Provisioning=True");
  CHECK(demo::conditions_text(serving()) == "Serving=True Provisioning=False");
  CHECK(demo::conditions_text(degraded()) ==
        "Serving=True Provisioning=False Degraded=True/PortsNotSupported");
}

TEST_CASE("a port that is closed carries a mark") {
  CHECK(demo::ports_text(serving()) == "80/TCP");
  CHECK(demo::ports_text(degraded()) == "80/TCP 99/SCTP!");
}

TEST_CASE("what has changed is told once") {
  const auto before = working();
  const auto after = serving();
  const auto later = serving(kNoon + std::chrono::seconds(5));
  CHECK(demo::differences(nullptr, web()) == Lines{"created"});
  CHECK(demo::differences(&before, before).empty());
  CHECK(demo::differences(&before, after) ==
        Lines{"Serving=True Provisioning=False", "at 203.0.113.254"});
  CHECK(demo::differences(&after, later) ==
        Lines{"a change took effect, Serving=True Provisioning=False"});
  CHECK(demo::differences(&after, before) ==
        Lines{"Serving=False/Provisioning Provisioning=True", "address removed"});
  const auto worse = degraded();
  CHECK(demo::differences(&after, worse) ==
        Lines{"ports 80/TCP 99/SCTP!",
              "Serving=True Provisioning=False Degraded=True/PortsNotSupported"});
  auto going = serving();
  going.deleting = true;
  CHECK(demo::differences(&after, going) == Lines{"is being deleted"});
}

TEST_CASE("a row is short") {
  auto service = serving();
  service.status.ingress.push_back({"fd00::1", "", "Proxy", {{80, Protocol::Tcp, ""}}});
  const auto row = demo::row_of(service);
  CHECK(row.name == "web");
  CHECK(row.address == "203.0.113.254 +1");
  CHECK(row.ports == "80/TCP");
  CHECK(row.conditions == "Serving=True");
  CHECK(demo::row_of(working()).conditions == "Serving=False/Provisioning Provisioning=True");
}

TEST_CASE("the table lines up, and is cut where the window ends") {
  auto first = demo::row_of(serving());
  first.answer = "echo-1";
  first.recently_changed = true;
  const auto second = demo::row_of(web());
  CHECK(demo::table({first, second}, {}) ==
        Lines{"  NAME  ADDRESS        PORTS   ANSWER  CONDITIONS",
              "* web   203.0.113.254  80/TCP  echo-1  Serving=True",
              "  web                  80/TCP"});
  CHECK(demo::table({first}, {.width = 20})[1] == "* web   203.0.113.25");
  const auto coloured = demo::table({first, second}, {.colour = true});
  CHECK(coloured[1].starts_with("\033[32m* web"));
  CHECK(coloured[1].ends_with("\033[0m"));
  CHECK(coloured[2].starts_with("\033[2m"));
}

TEST_CASE("nothing in the table breaks a line or controls the terminal") {
  auto row = demo::row_of(serving());
  row.name = "we\nb";
  row.answer = "\x1b[2Jgone\xC2\x9B";
  row.conditions = "\xE2\x80\xAEx";
  CHECK(demo::table({row}, {})[1] ==
        "  we\\nb  203.0.113.254  80/TCP  \\x1b[2Jgone\\u009b  \\u202ex");
}

// What `kindlb plan` tells ahead: the end of the story, for every way it can end.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

std::string brief(const Forecast& forecast, const char* type) {
  REQUIRE(forecast.status.has_value());
  const auto* found = find_condition(forecast.status->conditions, type);
  return found == nullptr ? "absent" : shown(found->status) + "/" + found->reason;
}

}  // namespace

TEST_CASE("foreseen: served, degraded, refused, failing") {
  struct Case {
    const char* name;
    ServiceBuilder asks;
    Outcome outcome;
    const char* serving;
    const char* degraded;
    const char* address;
  };
  const Case cases[] = {
      {"served", web(), Outcome::Serve, "True/Serving", "absent", "172.18.255.254"},
      {"served on a chosen address", web().with_ip("172.18.7.7"), Outcome::Serve, "True/Serving",
       "absent", "172.18.7.7"},
      {"degraded", web().local(), Outcome::Degrade, "True/Serving",
       "True/ExternalTrafficPolicyNotSupported", "172.18.255.254"},
      {"degraded for several reasons", web().local().with_port(9, Protocol::Sctp), Outcome::Degrade,
       "True/Serving", "True/Multiple", "172.18.255.254"},
      {"refused", a_service().with_port(9, Protocol::Sctp), Outcome::Refuse, "False/Unsupported",
       "absent", ""},
      {"refused for a feature nobody knows", web().requiring("Teleport"), Outcome::Refuse,
       "False/Unsupported", "absent", ""},
      {"failing as asked", web().annotated("kindlb.dev/fault-infrastructure", "quota exceeded"),
       Outcome::Serve, "False/Infrastructure", "absent", ""},
      {"delayed: the end is told, not the way",
       web().annotated("kindlb.dev/fault-provisioning-delay", "20s"), Outcome::Serve,
       "True/Serving", "absent", "172.18.255.254"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const Life life(c.asks);
      const auto forecast = life.foresee();
      CHECK(forecast.claim == Claim::Ours);
      CHECK(forecast.verdict.outcome == c.outcome);
      CHECK(brief(forecast, kServingCondition) == c.serving);
      CHECK(brief(forecast, kProvisioningCondition) == "False/Complete");
      CHECK(brief(forecast, kDegradedCondition) == c.degraded);
      const auto& ingress = forecast.status->ingress;
      CHECK((ingress.empty() ? "" : ingress[0].ip) == c.address);
      CHECK(forecast.config.has_value() == (std::string(c.serving) == "True/Serving"));
      CHECK(forecast.failure.empty() == (std::string(c.serving) != "False/Infrastructure"));
    }
  }
}

TEST_CASE("foreseen: what comes true") {
  for (const auto& asks :
       {web(), web().local().with_affinity(), web().with_ip("172.18.0.2"),
        web().with_source_range("office"), a_service().with_port(9, Protocol::Sctp),
        web().annotated("kindlb.dev/fault-infrastructure", "no")}) {
    Life life(asks);
    const auto forecast = life.foresee();
    life.settle();
    REQUIRE(forecast.status.has_value());
    CHECK(life.service.status.ingress == forecast.status->ingress);
    CHECK(life.service.annotations.at(kObservedAnnotation) == forecast.status->observed);
    for (const auto& foreseen : forecast.status->conditions) {
      const auto* came = find_condition(life.service.status.conditions, foreseen.type);
      REQUIRE(came != nullptr);
      CHECK(came->status == foreseen.status);
      CHECK(came->reason == foreseen.reason);
      CHECK(came->message == foreseen.message);
    }
    if (forecast.config) CHECK(revision_of(*forecast.config) == life.proxy.acknowledged);
  }
}

TEST_CASE("foreseen: whose it is comes first") {
  struct Case {
    const char* name;
    ServiceBuilder asks;
    Claim claim;
  };
  const Case cases[] = {
      {"another's class", web().of_class("example.com/x"), Claim::NotOurs},
      {"no load balancer", web().of_type(ServiceType::ClusterIp), Claim::NotOurs},
      {"was ours, deleted", web().annotated(kObservedAnnotation, "x").deleting(),
       Claim::ReleaseDeleted},
      {"was ours, changed",
       web().annotated(kObservedAnnotation, "x").of_type(ServiceType::ClusterIp),
       Claim::ReleaseChanged},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto forecast = Life(c.asks).foresee();
      CHECK(forecast.claim == c.claim);
      CHECK_FALSE(forecast.status.has_value());
      CHECK_FALSE(forecast.config.has_value());
      CHECK(forecast.warnings.empty());
    }
  }
}

TEST_CASE("foreseen: no address, no way") {
  Life life;
  life.network.at(IpFamily::V4).pools = {range("172.18.0.1")};
  const auto exhausted = life.foresee();
  CHECK(mentions(exhausted.failure, "--ip-range"));
  CHECK_FALSE(exhausted.config.has_value());
  CHECK(brief(exhausted, kServingCondition) == "False/Infrastructure");

  Life excluded;
  excluded.policy.datapath = Datapath::NodePort;
  for (auto& [name, node] : excluded.nodes) node.excluded = true;
  CHECK(mentions(excluded.foresee().failure, "exclude-from-external-load-balancers"));
}

TEST_CASE("foreseen: annotations that make no sense are warned about, each") {
  const auto forecast =
      Life(web().annotated("kindlb.dev/typo", "x").annotated("kindlb.dev/datapath", "y")).foresee();
  CHECK(forecast.warnings.size() == 2);
  CHECK(forecast.warnings[0].type == EventType::Warning);
  CHECK(forecast.warnings[0].reason == "InvalidAnnotation");
}

TEST_CASE("foreseen: the present state of a served Service does not matter") {
  auto life = settled();
  const auto forecast = life.foresee();
  CHECK(forecast.status->ingress == life.service.status.ingress);
  life.proxy_is_lost();
  CHECK(life.foresee().status == forecast.status);
}

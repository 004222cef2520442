// What `kindlb plan` tells ahead: the end of the story, for every way it can end.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

std::string brief(const Prediction& prediction, const char* type) {
  REQUIRE(prediction.status.has_value());
  const auto* found = find_condition(prediction.status->conditions, type);
  return found == nullptr ? "absent" : shown(found->status) + "/" + found->reason;
}

}  // namespace

TEST_CASE("predicted: served, degraded, refused, failing") {
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
      {"refused for an unknown feature", web().requiring("Teleport"), Outcome::Refuse,
       "False/Unsupported", "absent", ""},
      {"failing as asked", web().annotated("kindlb.dev/fault-infrastructure", "quota exceeded"),
       Outcome::Serve, "False/Infrastructure", "absent", ""},
      {"delayed: the end is predicted, not the delay",
       web().annotated("kindlb.dev/fault-provisioning-delay", "20s"), Outcome::Serve,
       "True/Serving", "absent", "172.18.255.254"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const Life life(c.asks);
      const auto prediction = life.predict();
      CHECK(prediction.claim == Claim::Ours);
      CHECK(prediction.verdict.outcome == c.outcome);
      CHECK(brief(prediction, kServingCondition) == c.serving);
      CHECK(brief(prediction, kProvisioningCondition) == "False/Complete");
      CHECK(brief(prediction, kDegradedCondition) == c.degraded);
      const auto& ingress = prediction.status->ingress;
      CHECK((ingress.empty() ? "" : ingress[0].ip) == c.address);
      CHECK(prediction.config.has_value() == (std::string(c.serving) == "True/Serving"));
      CHECK(prediction.failure.empty() == (std::string(c.serving) != "False/Infrastructure"));
    }
  }
}

TEST_CASE("predicted: what plan_service reaches") {
  for (const auto& asks :
       {web(), web().local().with_affinity(), web().with_ip("172.18.0.2"),
        web().with_source_range("office"), a_service().with_port(9, Protocol::Sctp),
        web().annotated("kindlb.dev/fault-infrastructure", "no")}) {
    Life life(asks);
    const auto prediction = life.predict();
    life.settle();
    REQUIRE(prediction.status.has_value());
    CHECK(life.service.status.ingress == prediction.status->ingress);
    CHECK(life.service.annotations.at(kObservedAnnotation) == prediction.status->observed);
    for (const auto& predicted : prediction.status->conditions) {
      const auto* came = find_condition(life.service.status.conditions, predicted.type);
      REQUIRE(came != nullptr);
      CHECK(came->status == predicted.status);
      CHECK(came->reason == predicted.reason);
      CHECK(came->message == predicted.message);
    }
    if (prediction.config) CHECK(revision_of(*prediction.config) == life.proxy.acknowledged);
  }
}

TEST_CASE("predicted: ownership comes first") {
  struct Case {
    const char* name;
    ServiceBuilder asks;
    Claim claim;
  };
  const Case cases[] = {
      {"another's class", web().of_class("example.com/x"), Claim::NotOurs},
      {"no load balancer", web().of_type(ServiceType::ClusterIp), Claim::NotOurs},
      {"was ours, deleted", web().annotated(kObservedAnnotation, "x.uid-web").deleting(),
       Claim::ReleaseDeleted},
      {"was ours, changed",
       web().annotated(kObservedAnnotation, "x.uid-web").of_type(ServiceType::ClusterIp),
       Claim::ReleaseChanged},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto prediction = Life(c.asks).predict();
      CHECK(prediction.claim == c.claim);
      CHECK_FALSE(prediction.status.has_value());
      CHECK_FALSE(prediction.config.has_value());
      CHECK(prediction.warnings.empty());
    }
  }
}

TEST_CASE("predicted: no address, no path") {
  Life life;
  life.network.at(IpFamily::V4).pools = {range("172.18.0.1")};
  const auto exhausted = life.predict();
  CHECK(mentions(exhausted.failure, "--ip-range"));
  CHECK_FALSE(exhausted.config.has_value());
  CHECK(brief(exhausted, kServingCondition) == "False/Infrastructure");
  CHECK(brief(exhausted, kProvisioningCondition) == "True/Provisioning");

  Life excluded;
  excluded.policy.datapath = Datapath::NodePort;
  for (auto& [name, node] : excluded.nodes) node.excluded = true;
  CHECK(mentions(excluded.predict().failure, "exclude-from-external-load-balancers"));
}

TEST_CASE("predicted: each invalid annotation is a warning") {
  const auto prediction =
      Life(web().annotated("kindlb.dev/typo", "x").annotated("kindlb.dev/datapath", "y")).predict();
  CHECK(prediction.warnings.size() == 2);
  CHECK(prediction.warnings[0].type == EventType::Warning);
  CHECK(prediction.warnings[0].reason == "InvalidAnnotation");
}

TEST_CASE("predicted: the present state of a served Service does not matter") {
  auto life = settled();
  const auto prediction = life.predict();
  CHECK(prediction.status->ingress == life.service.status.ingress);
  life.proxy_is_lost();
  CHECK(life.predict().status == prediction.status);
}

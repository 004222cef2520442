// The table of docs/contract.md §2, row by row, and what every write carries.
#include "core/conditions_support.hpp"

#include <algorithm>

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

struct Row {
  const char* name;
  Service before;
  Phase phase;
  const char* hash;
  const char* provisioning;
  const char* serving;
  std::vector<Ingress> ingress;
};

std::vector<Row> rows() {
  const auto filled = ingress_of("172.18.255.254");
  const auto working = in_phase(fresh(), Phase::Working);
  const auto updating = in_phase(serving(), Phase::Updating, at(120), kOtherHash);
  const auto dead = in_phase(serving(), Phase::Failing, at(120));
  return {
      {"seen, will be refused",
       fresh(),
       Phase::Refused,
       kHash,
       "False/Complete",
       "False/Unsupported",
       {}},
      {"seen, work begins",
       fresh(),
       Phase::Working,
       kHash,
       "True/Provisioning",
       "False/Provisioning",
       {}},
      {"seen, ready at once", fresh(), Phase::Serving, kHash, "False/Complete", "True/Serving",
       filled},
      {"work finished", working, Phase::Serving, kHash, "False/Complete", "True/Serving", filled},
      {"work failed, a retry is scheduled",
       working,
       Phase::Failing,
       kHash,
       "True/Provisioning",
       "False/Infrastructure",
       {}},
      {"work failed, given up",
       working,
       Phase::GivenUp,
       kHash,
       "False/Complete",
       "False/Infrastructure",
       {}},
      {"served, then work failed and a retry is scheduled", serving(), Phase::Failing, kOtherHash,
       "True/Provisioning", "False/Infrastructure", filled},
      {"served, then no eligible node at all", serving(), Phase::GivenUp, kHash, "False/Complete",
       "False/Infrastructure", filled},
      {"update rejected while the old configuration serves", updating, Phase::UpdateFailing,
       kOtherHash, "True/Provisioning", "True/Serving", filled},
      {"was serving, an update makes it refused",
       serving(),
       Phase::Refused,
       kOtherHash,
       "False/Complete",
       "False/Unsupported",
       {}},
      {"an update that keeps serving the old semantics", serving(), Phase::Updating, kOtherHash,
       "True/Provisioning", "True/Serving", filled},
      {"that update finished", updating, Phase::Serving, kOtherHash, "False/Complete",
       "True/Serving", filled},
      {"an update that must interrupt", serving(), Phase::Working, kOtherHash, "True/Provisioning",
       "False/Provisioning", filled},
      {"proxy died, being healed", serving(), Phase::Failing, kHash, "True/Provisioning",
       "False/Infrastructure", filled},
      {"healed", dead, Phase::Serving, kHash, "False/Complete", "True/Serving", filled},
  };
}

}  // namespace

TEST_CASE("what the conditions say at each moment") {
  for (const auto& row : rows()) {
    SUBCASE(row.name) {
      const auto write = written(row.before, progress(row.phase), at(200), row.hash);
      CHECK(brief(provisioning_of(write)) == row.provisioning);
      CHECK(brief(serving_of(write)) == row.serving);
      CHECK(write.ingress == row.ingress);
    }
  }
}

TEST_CASE("every write carries everything we own") {
  for (const auto& row : rows()) {
    SUBCASE(row.name) {
      const auto write = written(row.before, progress(row.phase), at(200), row.hash);
      CHECK(write.key == row.before.key);
      CHECK(write.uid == row.before.uid);
      CHECK(write.finalizer);
      CHECK(mark_hash(write.observed) == row.hash);
      CHECK(write.conditions.size() == 2);
      for (const auto& condition : write.conditions) {
        CHECK(condition.status != ConditionStatus::Unknown);
        CHECK_FALSE(condition.reason.empty());
        CHECK_FALSE(condition.message.empty());
      }
    }
  }
}

TEST_CASE("a status that is already right is not written again") {
  for (const auto& row : rows()) {
    SUBCASE(row.name) {
      const auto service =
          accepted(row.before, written(row.before, progress(row.phase), at(200), row.hash));
      CHECK_FALSE(next_status(service, row.hash, progress(row.phase), at(5000)).has_value());
    }
  }
}

TEST_CASE("the order of conditions and those of others do not cause a write") {
  auto service = serving();
  service.status.conditions.push_back(
      {"example.com/Checked", ConditionStatus::True, "Yes", "", at(5)});
  std::reverse(service.status.conditions.begin(), service.status.conditions.end());
  CHECK_FALSE(next_status(service, kHash, progress(Phase::Serving), at(200)).has_value());
}

TEST_CASE("conditions of others are not ours to write") {
  auto service = fresh();
  service.status.conditions.push_back(
      {"LoadBalancerPortsError", ConditionStatus::True, "Old", "", at(5)});
  const auto write = written(service, progress(Phase::Working));
  CHECK(find_condition(write.conditions, "LoadBalancerPortsError") == nullptr);
}

TEST_CASE("what another client removed is written again") {
  auto service = serving();
  SUBCASE("the finalizer") {
    service.finalizers.clear();
  }
  SUBCASE("the annotation") {
    service.annotations.clear();
  }
  SUBCASE("the ingress") {
    service.status.ingress.clear();
  }
  SUBCASE("a condition") {
    service.status.conditions.pop_back();
  }
  SUBCASE("a condition's words") {
    service.status.conditions.back().message = "Hm.";
  }
  SUBCASE("a port's status") {
    service.status.ingress[0].ports.clear();
  }
  const auto write = written(service, progress(Phase::Serving));
  CHECK(write.finalizer);
  CHECK(mark_hash(write.observed) == kHash);
  CHECK(write.ingress == ingress_of("172.18.255.254"));
  CHECK(write.conditions.size() == 2);
}

TEST_CASE("an ingress another provider left is not kept before we serve it") {
  const auto foreign = a_service().with_port(80).reporting("192.0.2.7").build();
  CHECK(written(foreign, progress(Phase::Working)).ingress.empty());
  CHECK(written(foreign, progress(Phase::Serving)).ingress == ingress_of("172.18.255.254"));
}

TEST_CASE("messages tell what is served, what is wrong, and what happens next") {
  SUBCASE("serving names address and ports") {
    const auto message = serving_of(written(fresh(), progress(Phase::Serving))).message;
    CHECK(mentions(message, "172.18.255.254"));
    CHECK(mentions(message, "TCP/80"));
  }
  SUBCASE("serving does not claim closed ports") {
    auto after = progress(Phase::Serving);
    after.ingress[0].ports.push_back({9, Protocol::Sctp, "kindlb.dev/PortsNotSupported"});
    CHECK_FALSE(mentions(serving_of(written(fresh(), after)).message, "SCTP/9"));
  }
  SUBCASE("serving on two families names both") {
    auto after = progress(Phase::Serving);
    after.ingress.push_back({.ip = "fc00::fe", .ip_mode = "Proxy"});
    CHECK(mentions(serving_of(written(fresh(), after)).message, ", fc00::fe"));
  }
  SUBCASE("refusal says why, in both") {
    const auto write = written(fresh(), progress(Phase::Refused, "SCTP/9 is not supported."));
    CHECK(serving_of(write).message == "SCTP/9 is not supported.");
    CHECK(mentions(provisioning_of(write).message, "SCTP/9 is not supported."));
  }
  SUBCASE("failure says that it is tried again") {
    const auto write = written(fresh(), progress(Phase::Failing, "No image."));
    CHECK(serving_of(write).message == "No image.");
    CHECK(mentions(provisioning_of(write).message, "Retrying"));
  }
  SUBCASE("a rejected update says which specification is served, and why") {
    const auto updating = in_phase(serving(), Phase::Updating, at(120), kOtherHash);
    const auto message =
        serving_of(
            written(updating, progress(Phase::UpdateFailing, "Cannot bind."), at(200), kOtherHash))
            .message;
    CHECK(mentions(message, "previous"));
    CHECK(mentions(message, "Cannot bind."));
  }
  SUBCASE("a note is added to what is served") {
    CHECK(mentions(serving_of(written(fresh(), progress(Phase::Serving, "Note: x."))).message,
                   "Note: x."));
  }
}

TEST_CASE("Degraded is True with its reasons while serving, else absent") {
  struct Case {
    const char* name;
    Phase phase;
    bool want;
  };
  const Case cases[] = {
      {"serving", Phase::Serving, true},
      {"updating", Phase::Updating, false},
      {"update failing", Phase::UpdateFailing, false},
      {"refused", Phase::Refused, false},
      {"working", Phase::Working, false},
      {"failing", Phase::Failing, false},
      {"given up", Phase::GivenUp, false},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      auto after = progress(c.phase);
      after.degraded = one_degradation();
      const auto write = written(serving(), after, at(200), kOtherHash);
      const auto* degraded = find_condition(write.conditions, kDegradedCondition);
      REQUIRE((degraded != nullptr) == c.want);
      if (!c.want) return;
      CHECK(brief(*degraded) == "True/SessionAffinityNotSupported");
      CHECK(degraded->message == "No affinity.");
    }
  }
}

TEST_CASE("until an update takes effect Degraded stays as it was") {
  auto service = serving();
  service.status.conditions.push_back(
      {kDegradedCondition, ConditionStatus::True, "PortsNotSupported", "No SCTP.", at(50)});
  for (const auto phase : {Phase::Updating, Phase::UpdateFailing}) {
    auto after = progress(phase);
    after.degraded = one_degradation();
    const auto write = written(service, after, at(200), kOtherHash);
    const auto* degraded = find_condition(write.conditions, kDegradedCondition);
    REQUIRE(degraded != nullptr);
    CHECK(*degraded == service.status.conditions.back());
  }
  CHECK(find_condition(written(service, progress(Phase::Serving), at(200), kOtherHash).conditions,
                       kDegradedCondition) == nullptr);
}

TEST_CASE("Degraded for several reasons says Multiple and all of them") {
  auto after = progress(Phase::Serving);
  after.degraded = one_degradation();
  after.degraded.push_back({"Ports", "PortsNotSupported", "No SCTP."});
  const auto degraded = condition(written(fresh(), after).conditions, kDegradedCondition);
  CHECK(brief(degraded) == "True/Multiple");
  CHECK(degraded.message == "No affinity. No SCTP.");
}

TEST_CASE("Degraded goes away, without a False, when its reason does") {
  auto after = progress(Phase::Serving);
  after.degraded = one_degradation();
  const auto degraded = accepted(fresh(), written(fresh(), after));
  const auto write = written(degraded, progress(Phase::Serving), at(300), kOtherHash);
  CHECK(find_condition(write.conditions, kDegradedCondition) == nullptr);
  CHECK(find_condition(accepted(degraded, write).status.conditions, kDegradedCondition) == nullptr);
}

TEST_CASE("looking conditions up") {
  const std::vector<Condition> conditions = {
      {kServingCondition, ConditionStatus::True, "", "", at(1)},
      {kProvisioningCondition, ConditionStatus::False, "", "", at(1)},
      {kDegradedCondition, ConditionStatus::Unknown, "", "", at(1)}};
  CHECK(is_true(conditions, kServingCondition));
  CHECK_FALSE(is_true(conditions, kProvisioningCondition));
  CHECK_FALSE(is_true(conditions, kDegradedCondition));
  CHECK_FALSE(is_true({}, kServingCondition));
  CHECK(find_condition(conditions, "Other") == nullptr);
  CHECK(find_condition(conditions, kProvisioningCondition) == &conditions[1]);
}

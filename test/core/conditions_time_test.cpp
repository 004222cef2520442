// When transition times move, and by how much (docs/contract.md §2, KEP-4631).
#include "core/conditions_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

Timestamp time_of(const Service& service, const char* type) {
  return condition(service.status.conditions, type).last_transition;
}

}  // namespace

TEST_CASE("first conditions carry the moment they were written") {
  const auto write = written(fresh(), progress(Phase::Working), at(42));
  CHECK(serving_of(write).last_transition == at(42));
  CHECK(provisioning_of(write).last_transition == at(42));
}

TEST_CASE("Provisioning's time moves with every change of the spec, Serving's does not") {
  struct Case {
    const char* name;
    Phase phase;
  };
  const Case cases[] = {
      {"nothing to do for it", Phase::Serving},
      {"something to do", Phase::Updating},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto write = written(serving(), progress(c.phase), at(200), kOtherHash);
      CHECK(provisioning_of(write).last_transition == at(200));
      CHECK(serving_of(write).last_transition == at(110));
      CHECK(mark_hash(write.observed) == kOtherHash);
    }
  }
}

TEST_CASE("Provisioning's time moves even while its value stays") {
  SUBCASE("False, refused twice") {
    const auto refused = in_phase(fresh(), Phase::Refused);
    const auto write = written(refused, progress(Phase::Refused), at(200), kOtherHash);
    CHECK(brief(provisioning_of(write)) == "False/Complete");
    CHECK(provisioning_of(write).last_transition == at(200));
    CHECK(serving_of(write).last_transition == at(100));
  }
  SUBCASE("True, changed while being worked on") {
    const auto working = in_phase(fresh(), Phase::Working);
    const auto write = written(working, progress(Phase::Working), at(200), kOtherHash);
    CHECK(brief(provisioning_of(write)) == "True/Provisioning");
    CHECK(provisioning_of(write).last_transition == at(200));
    CHECK(serving_of(write).last_transition == at(100));
  }
}

TEST_CASE("Serving's time moves when the new semantics take effect") {
  const auto updating = in_phase(serving(), Phase::Updating, at(120), kOtherHash);
  CHECK(time_of(updating, kServingCondition) == at(110));
  const auto write = written(updating, progress(Phase::Serving), at(130), kOtherHash);
  CHECK(brief(serving_of(write)) == "True/Serving");
  CHECK(serving_of(write).last_transition == at(130));
  CHECK(provisioning_of(write).last_transition == at(130));
}

TEST_CASE("Serving's time moves when what is reported changes, even with no work to do") {
  auto after = progress(Phase::Serving);
  after.ingress = ingress_of("172.18.255.9");
  CHECK(serving_of(written(serving(), after)).last_transition == at(200));
}

TEST_CASE("times move when the value does") {
  const auto failing = in_phase(serving(), Phase::Failing, at(150));
  CHECK(time_of(failing, kServingCondition) == at(150));
  CHECK(time_of(failing, kProvisioningCondition) == at(150));
  const auto healed = in_phase(failing, Phase::Serving, at(160));
  CHECK(time_of(healed, kServingCondition) == at(160));
  CHECK(time_of(healed, kProvisioningCondition) == at(160));
}

TEST_CASE("new words alone do not move a time") {
  const auto failing =
      accepted(fresh(), written(fresh(), progress(Phase::Failing, "One."), at(50)));
  const auto write = written(failing, progress(Phase::Failing, "Two."), at(60));
  CHECK(serving_of(write).message == "Two.");
  CHECK(serving_of(write).last_transition == at(50));
  CHECK(provisioning_of(write).last_transition == at(50));
}

TEST_CASE("a failing update does not move Serving's time: the old semantics still hold") {
  const auto updating = in_phase(serving(), Phase::Updating, at(120), kOtherHash);
  const auto write = written(updating, progress(Phase::UpdateFailing), at(130), kOtherHash);
  CHECK(serving_of(write).last_transition == at(110));
  CHECK(provisioning_of(write).last_transition == at(120));
}

TEST_CASE("two changes in one second are both visible") {
  struct Case {
    const char* name;
    long now;
    long want;
  };
  const Case cases[] = {
      {"in the same second", 110, 111},
      {"a clock that went back", 30, 111},
      {"a second later", 111, 111},
      {"later", 112, 112},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto failing = in_phase(serving(), Phase::Failing, at(c.now));
      CHECK(time_of(failing, kServingCondition) == at(c.want));
    }
  }
}

TEST_CASE("many changes in one second each add one") {
  auto service = serving();
  for (int i = 1; i <= 5; ++i) {
    service = in_phase(service, Phase::Serving, at(110), "hash-" + std::to_string(i + 10));
    CHECK(time_of(service, kProvisioningCondition) == at(110 + i));
    CHECK(time_of(service, kServingCondition) == at(110));
  }
}

TEST_CASE("nothing else moves a time: a resync, a restart, other endpoints, a label") {
  auto service = serving();
  service.resource_version = "99";
  service.annotations["example.com/team"] = "blue";
  CHECK_FALSE(next_status(service, kHash, progress(Phase::Serving), at(5000)).has_value());
  CHECK_FALSE(
      next_status(service, kHash, progress(Phase::Serving, "Note: x."), at(5000)).has_value());
}

TEST_CASE("Degraded keeps its time while it stays True") {
  auto after = progress(Phase::Serving);
  after.degraded = one_degradation();
  const auto degraded = accepted(fresh(), written(fresh(), after, at(50)));
  after.degraded.push_back({"Ports", "PortsNotSupported", "No SCTP."});
  const auto write = written(degraded, after, at(60), kOtherHash);
  const auto now = condition(write.conditions, kDegradedCondition);
  CHECK(now.reason == "Multiple");
  CHECK(now.last_transition == at(50));
}

// Marks: the annotation that proves that a Service was ours.
#include "core/eligibility_support.hpp"
#include "kindlb/core/conditions.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

Service with_conditions(Service service) {
  service.status.conditions = {{.type = kServingCondition, .status = ConditionStatus::True},
                               {.type = kProvisioningCondition, .status = ConditionStatus::False}};
  return service;
}

/// As a release wrote it whose marks had no uid.
Service ours_of_old(ServiceBuilder builder) {
  return with_conditions(builder.annotated(kObservedAnnotation, "0123").with_finalizer());
}

}  // namespace

TEST_CASE("a mark that was copied with a manifest is no mark") {
  const auto copied = [] { return once_ours("uid-of-another"); };
  struct Case {
    const char* name;
    Service in;
    Claim want;
  };
  const Case cases[] = {
      {"of another class", copied().of_class("example.com/x"), Claim::NotOurs},
      {"of another class, deleted", copied().of_class("example.com/x").deleting(), Claim::NotOurs},
      {"of another type", copied().of_type(ServiceType::ClusterIp), Claim::NotOurs},
      {"ours by its class all the same", copied(), Claim::Ours},
      {"ours by its class, deleted: nobody else removes the copied finalizer", copied().deleting(),
       Claim::ReleaseDeleted},
      {"its own mark, then another class", once_ours().of_class("example.com/x"),
       Claim::ReleaseChanged},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(claim_of(c.in, {}) == c.want);
    }
  }
  CHECK_FALSE(was_ours(copied()));
  CHECK(last_observed(copied()).empty());
}

TEST_CASE("marks of previous releases, without a uid") {
  const auto bare = [] { return a_service().annotated(kObservedAnnotation, "0123"); };
  struct Case {
    const char* name;
    Service in;
    Claim want;
    bool ours;
  };
  const Case cases[] = {
      {"served", ours_of_old(a_service()), Claim::Ours, true},
      {"deleted", ours_of_old(a_service().deleting()), Claim::ReleaseDeleted, true},
      {"type changed", ours_of_old(a_service().of_type(ServiceType::ClusterIp)),
       Claim::ReleaseChanged, true},
      {"another class: its provider may have written the conditions",
       ours_of_old(a_service().of_class("example.com/x")), Claim::NotOurs, true},
      {"copied", bare(), Claim::Ours, false},
      {"copied with the finalizer", bare().with_finalizer(), Claim::Ours, false},
      {"copied, another type", bare().with_finalizer().of_type(ServiceType::ClusterIp),
       Claim::NotOurs, false},
      {"copied, another class", bare().with_finalizer().of_class("example.com/x"), Claim::NotOurs,
       false},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(claim_of(c.in, {}) == c.want);
      CHECK(was_ours(c.in) == c.ours);
      CHECK(last_observed(c.in) == (c.ours ? "0123" : ""));
    }
  }
}

TEST_CASE("our annotation is ownership, the finalizer is not") {
  CHECK(was_ours(once_ours()));
  CHECK_FALSE(was_ours(a_service().with_finalizer()));
  CHECK_FALSE(was_ours(a_service().annotated("kindlb.dev/other", "x")));
}

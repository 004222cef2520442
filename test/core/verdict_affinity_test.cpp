// sessionAffinityConfig.clientIP.timeoutSeconds, which the data path does not have.
#include "core/plan/plan_support.hpp"
#include "core/verdict_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

Service sticky(int seconds, const std::string& required = "") {
  auto builder = web().with_affinity();
  if (!required.empty()) builder.requiring(required);
  Service out = builder;
  out.spec.affinity_seconds = seconds;
  return out;
}

/// A Service that an earlier release served although it requires affinity with this timeout.
Life served_by_an_earlier_release() {
  auto life = settled(sticky(10'800, "SessionAffinity"));
  life.service.spec.affinity_seconds = 60;
  life.service.annotations[kObservedAnnotation] = observed_hash(life.service, life.policy);
  life.kindlb_restarts();
  return life;
}

}  // namespace

TEST_CASE("an affinity timeout that is not the default is named, or refused where required") {
  struct Case {
    const char* name;
    Service service;
    bool strict;
    Outcome want;
  };
  const Case cases[] = {
      {"the default", sticky(10'800), false, Outcome::Serve},
      {"the default, required", sticky(10'800, "SessionAffinity"), false, Outcome::Serve},
      {"the default, strict", sticky(10'800), true, Outcome::Serve},
      {"not filled in, as in a manifest", sticky(0, "SessionAffinity"), false, Outcome::Serve},
      {"another", sticky(60), false, Outcome::Degrade},
      {"a longer one", sticky(86'400), false, Outcome::Degrade},
      {"another, and something else is required", sticky(60, "Ports"), false, Outcome::Degrade},
      {"another, required", sticky(60, "SessionAffinity"), false, Outcome::Refuse},
      {"another, strict", sticky(60), true, Outcome::Refuse},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto verdict = judged(c.service, Capabilities{}, c.strict);
      CHECK(verdict.outcome == c.want);
      if (c.want != Outcome::Refuse) CHECK(verdict.affinity == Affinity::ClientIp);
      if (c.want == Outcome::Serve) continue;
      CHECK(verdict.reasons.size() == 1);
      CHECK(summary_reason(verdict.reasons) == "SessionAffinityNotSupported");
      const auto message = summary_message(verdict.reasons);
      CHECK(mentions(message, "spec.sessionAffinityConfig.clientIP.timeoutSeconds is " +
                                  std::to_string(c.service.spec.affinity_seconds)));
      CHECK(mentions(message, "has no timeout"));
      CHECK(mentions(message, "remove the field"));
    }
  }
}

TEST_CASE("a timeout without affinity asks for nothing") {
  auto service = sticky(60, "SessionAffinity");
  service.spec.affinity = Affinity::None;
  CHECK(judged(service, Capabilities{}).outcome == Outcome::Serve);
}

TEST_CASE("a provider without affinity has one complaint, whatever the timeout") {
  const auto verdict = judged(sticky(60));
  REQUIRE(verdict.reasons.size() == 1);
  CHECK(mentions(verdict.reasons[0].message, "spec.sessionAffinity ClientIP"));
}

TEST_CASE("what an earlier release serves goes on, and says that it is degraded") {
  auto life = served_by_an_earlier_release();
  const auto address = life.address();
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.degraded() == "True/SessionAffinityNotSupported");
  CHECK(life.address() == address);

  SUBCASE("also when its proxy is lost") {
    life.proxy_is_lost();
    life.step();
    CHECK(life.serving() == "False/Infrastructure");
    life.settle();
    CHECK(life.serving() == "True/Serving");
    CHECK(life.address() == address);
  }
  SUBCASE("until it changes: then it is refused, for good") {
    life.service.spec.affinity_seconds = 120;
    life.settle();
    CHECK(life.serving() == "False/Unsupported");
    CHECK(life.address().empty());
    life.kindlb_restarts();
    CHECK(life.plan().empty());
  }
}

TEST_CASE("a served Service that begins to require affinity with a timeout is refused") {
  auto life = settled(sticky(60));
  CHECK(life.degraded() == "True/SessionAffinityNotSupported");
  life.service.spec.required_features = {"SessionAffinity"};
  life.settle();
  CHECK(life.serving() == "False/Unsupported");
  CHECK(mentions(life.message(), "timeoutSeconds is 60"));
  life.service.spec.affinity_seconds = 10'800;
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.degraded() == "absent");
}

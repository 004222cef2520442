// The other annotations of docs/contract.md §7 through whole lives, and those that make no sense.
#include "core/plan/plan_support.hpp"

#include <algorithm>

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

constexpr const char* kInfrastructure = "kindlb.dev/fault-infrastructure";
constexpr const char* kUnsupported = "kindlb.dev/fault-unsupported";

std::vector<EventNote> events_with(const Plan& plan, const std::string& reason) {
  std::vector<EventNote> out;
  std::copy_if(plan.events.begin(), plan.events.end(), std::back_inserter(out),
               [&](const EventNote& note) { return note.reason == reason; });
  return out;
}

}  // namespace

TEST_CASE("infrastructure: a new Service ends given up, in the words asked for") {
  Life life(a_service().with_port(80).annotated(kInfrastructure, "quota exceeded"));
  const auto plan = life.step();
  CHECK_FALSE(plan.claim);
  REQUIRE(events_with(plan, "Infrastructure").size() == 1);
  CHECK(events_with(plan, "Infrastructure")[0].type == EventType::Warning);
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.message() == "quota exceeded");
  CHECK(life.service.status.ingress.empty());
  CHECK(life.step().empty());
  life.kindlb_restarts();
  CHECK(life.plan().empty());
}

TEST_CASE("infrastructure: a proxy is let go, the address is not; and all comes back") {
  auto life = settled();
  life.annotate(kInfrastructure, "zone is down");
  const auto plan = life.step();
  CHECK(plan.remove_proxy);
  CHECK_FALSE(plan.apply.has_value());
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.address() == "172.18.255.254");
  life.proxy_is_lost();
  CHECK(life.step().empty());

  SUBCASE("at once") {}
  SUBCASE("after a restart") {
    life.kindlb_restarts();
  }
  SUBCASE("with other words in between") {
    life.annotate(kInfrastructure, "zone is back, rack is down");
    life.step();
    CHECK(life.message() == "zone is back, rack is down");
  }
  life.service.annotations.erase(kInfrastructure);
  life.step();
  CHECK(life.serving() == "False/Provisioning");
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.address() == "172.18.255.254");
}

TEST_CASE("infrastructure: a proxy that is being made is let go, too") {
  Life life;
  life.step();
  CHECK(life.step().claim);
  life.proxy.coming = true;
  life.annotate(kInfrastructure, "no");
  CHECK(life.step().remove_proxy);
}

TEST_CASE("unsupported: degraded and served, or refused where it is required") {
  struct Case {
    const char* feature;
    ServiceBuilder asks;
    const char* reason;
  };
  const Case cases[] = {
      {"IPFamilies", a_service().with_port(80).with_families({IpFamily::V4, IpFamily::V6}),
       "True/IPFamiliesNotSupported"},
      {"Ports", a_service().with_port(80).with_port(443), "True/PortsNotSupported"},
      {"SessionAffinity", a_service().with_port(80).with_affinity(),
       "True/SessionAffinityNotSupported"},
      {"LoadBalancerIP", a_service().with_port(80).with_ip("172.18.0.9"),
       "True/LoadBalancerIPNotSupported"},
      {"LoadBalancerSourceRanges", a_service().with_port(80).with_source_range("10.0.0.0/8"),
       "True/LoadBalancerSourceRangesNotSupported"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.feature) {
      Life life(c.asks);
      life.network[IpFamily::V6] = {.subnet = cidr("fc00:1::/64"), .taken = {}, .pools = {}};
      life.settle();
      CHECK(life.degraded() == "absent");
      const auto before = life.since(kServingCondition);
      life.annotate(kUnsupported, c.feature);
      life.settle();
      CHECK(life.serving() == "True/Serving");
      CHECK(life.degraded() == c.reason);
      CHECK(life.since(kServingCondition) >= before);
      life.service.spec.required_features = {c.feature};
      life.settle();
      CHECK(life.serving() == "False/Unsupported");
      CHECK(life.degraded() == "absent");
      CHECK_FALSE(life.proxy.present);
      life.service.annotations.erase(kUnsupported);
      life.settle();
      CHECK(life.serving() == "True/Serving");
      CHECK(life.degraded() == "absent");
    }
  }
}

TEST_CASE("interrupt: updates pass through Serving False and come back on the same address") {
  auto life = settled(a_service().with_port(80).annotated(kInterrupt, "true"));
  const auto ingress = life.service.status.ingress;
  const auto served_since = life.since(kServingCondition);
  life.add_port(443);
  life.step();
  CHECK(life.serving() == "False/Provisioning");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), kInterrupt));
  CHECK(life.service.status.ingress == ingress);
  const auto sent = life.step();
  // The words stay: a status that is right is not written again.
  CHECK_FALSE(sent.write.has_value());
  life.proxy_confirms(sent);
  const auto done = life.step();
  CHECK(events_with(done, "Serving").size() == 1);
  CHECK(life.serving() == "True/Serving");
  CHECK(life.since(kServingCondition) > served_since);
  CHECK(life.address() == ingress[0].ip);
  CHECK(life.step().empty());
}

TEST_CASE("interrupt: only updates, only new semantics, only when asked") {
  SUBCASE("a new Service is set up as ever") {
    Life life(a_service().with_port(80).annotated(kInterrupt, "true"));
    life.step();
    CHECK_FALSE(mentions(life.message(), kInterrupt));
  }
  SUBCASE("what changes nothing for the proxy interrupts nothing") {
    auto life = settled();
    life.annotate(kInterrupt, "true");
    life.step();
    CHECK(life.serving() == "True/Serving");
    CHECK(life.provisioning() == "False/Complete");
  }
  SUBCASE("endpoints come and go as ever") {
    auto life = settled(a_service().with_port(80).annotated(kInterrupt, "true"));
    life.slices[0].endpoints.pop_back();
    CHECK_FALSE(life.step().write.has_value());
  }
  SUBCASE("false") {
    auto life = settled(a_service().with_port(80).annotated(kInterrupt, "false"));
    life.add_port(443);
    life.step();
    CHECK(life.serving() == "True/Serving");
  }
}

TEST_CASE("interrupt: an update that is taken back ends as it was") {
  auto life = settled(a_service().with_port(80).annotated(kInterrupt, "true"));
  const auto before = life.service.spec;
  life.add_port(443);
  life.step();
  life.service.spec = before;
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.service.status.ingress[0].ports.size() == 1);
}

TEST_CASE("annotations that make no sense: one Warning per change, and otherwise nothing") {
  struct Case {
    const char* name;
    const char* value;
  };
  const Case cases[] = {
      {"kindlb.dev/fault-provisioning-delay", "soon"},
      {"kindlb.dev/fault-infrastructure", " "},
      {"kindlb.dev/fault-unsupported", "Teleport"},
      {"kindlb.dev/fault-interrupt-on-update", "maybe"},
      {"kindlb.dev/datapath", "tunnel"},
      {"kindlb.dev/proxy-protocol", "v3"},
      {"kindlb.dev/typo", "x"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Life life(a_service().with_port(80).annotated(c.name, c.value));
      std::vector<EventNote> warnings;
      const auto live = [&] {
        for (int i = 0; i < 6; ++i) {
          const auto plan = life.step();
          for (auto& note : events_with(plan, "InvalidAnnotation")) warnings.push_back(note);
          if (plan.claim) life.proxy_claimed();
          if (plan.apply) life.proxy_confirms(plan);
        }
        CHECK(life.serving() == "True/Serving");
        CHECK(life.degraded() == "absent");
      };
      live();
      REQUIRE(warnings.size() == 1);
      CHECK(warnings[0].type == EventType::Warning);
      CHECK(mentions(warnings[0].message, c.name));
      life.kindlb_restarts();
      live();
      CHECK(warnings.size() == 1);
      life.add_port(443);
      live();
      CHECK(warnings.size() == 2);
      life.service.annotations.erase(c.name);
      live();
      CHECK(warnings.size() == 2);
    }
  }
}

TEST_CASE("several annotations that make no sense are a Warning each, for the refused, too") {
  Life life(a_service()
                .with_port(9, Protocol::Sctp)
                .annotated("kindlb.dev/datapath", "tunnel")
                .annotated("kindlb.dev/typo", "x"));
  const auto plan = life.step();
  CHECK(events_with(plan, "InvalidAnnotation").size() == 2);
  CHECK(events_with(plan, "Unsupported").size() == 1);
  CHECK(life.step().events.empty());
}

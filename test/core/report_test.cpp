#include "kindlb/core/report.hpp"

#include "kindlb/core/eligibility.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

Service marked() {
  auto out = a_service().with_port(80).with_finalizer().build();
  out.annotations[kObservedAnnotation] = mark_of(out, "hash");
  return out;
}

StatusApply served(const Service& service) {
  StatusApply out{.key = service.key, .uid = service.uid, .observed = mark_of(service, "hash")};
  out.ingress = {{.ip = "172.18.0.9", .ip_mode = "Proxy", .ports = {{80, Protocol::Tcp, ""}}}};
  out.conditions = {{kServingCondition, ConditionStatus::True, "Serving", "Serving.", at(10)},
                    {kProvisioningCondition, ConditionStatus::False, "Complete", "Done.", at(5)}};
  return out;
}

}  // namespace

TEST_CASE("the ingress that clients are told") {
  const std::vector<Ingress> meant = {
      {.ip = "172.18.0.9", .ip_mode = "Proxy", .ports = {{80, Protocol::Tcp, ""}}}};
  struct Case {
    const char* name;
    std::vector<Ingress> shown;
    bool same;
  };
  const Case cases[] = {
      {"all of it", meant, true},
      {"without ports", {{.ip = "172.18.0.9", .ip_mode = "Proxy"}}, true},
      {"without ipMode", {{.ip = "172.18.0.9", .ports = meant[0].ports}}, true},
      {"without either", {{.ip = "172.18.0.9"}}, true},
      {"another port",
       {{.ip = "172.18.0.9", .ip_mode = "Proxy", .ports = {{81, Protocol::Tcp, ""}}}},
       false},
      {"another mode", {{.ip = "172.18.0.9", .ip_mode = "VIP"}}, false},
      {"another address", {{.ip = "172.18.0.8"}}, false},
      {"no address", {}, false},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(same_ingress(c.shown, meant) == c.same);
    }
  }
}

TEST_CASE("a Service counts as it was reported while the API shows its answer to that") {
  const auto meant = served(marked());
  const auto shown = accepted(marked(), without(meant, {.ports = true, .conditions = true}));
  const Report report{.meant = meant, .shown = owned_fields(shown)};
  CHECK(owned_fields(as_reported(shown, report, at(99))) == meant);
  SUBCASE("a change of the spec does not matter") {
    auto changed = shown;
    changed.spec.ports[0].port = 81;
    CHECK(owned_fields(as_reported(changed, report, at(99))) == meant);
  }
  SUBCASE("a status of somebody else does") {
    auto changed = shown;
    changed.status.ingress[0].ip = "172.18.0.8";
    CHECK(as_reported(changed, report, at(99)).status.ingress[0].ip == "172.18.0.8");
  }
  SUBCASE("conditions of others stay") {
    auto changed = shown;
    changed.status.conditions = {{.type = "example.com/Other"}};
    CHECK(as_reported(changed, report, at(99)).status.conditions.size() == 3);
  }
}

TEST_CASE("without a report, an address beside our mark means that the Service was served") {
  auto service = marked();
  CHECK(as_reported(service, std::nullopt, at(99)) == service);
  service.status.ingress = {{.ip = "172.18.0.9"}};
  const auto conditions = as_reported(service, std::nullopt, at(99)).status.conditions;
  REQUIRE(conditions.size() == 2);
  CHECK(conditions[0].type == kServingCondition);
  CHECK(conditions[0].status == ConditionStatus::True);
  CHECK(conditions[0].last_transition == at(99));
  CHECK(conditions[1].status == ConditionStatus::False);
  SUBCASE("not beside the mark of another Service") {
    service.annotations[kObservedAnnotation] = "hash.uid-of-another";
    CHECK(as_reported(service, std::nullopt, at(99)) == service);
  }
}

TEST_CASE("what must be written") {
  const auto meant = served(marked());
  const auto complete = accepted(marked(), meant);
  const auto stripped = accepted(marked(), without(meant, {.conditions = true}));
  const Report report{.meant = meant, .shown = owned_fields(stripped)};
  Policy silent;
  silent.conditions = false;
  CHECK_FALSE(must_write(meant, complete, std::nullopt, {}));
  CHECK(must_write(meant, stripped, std::nullopt, {}));
  CHECK_FALSE(must_write(meant, stripped, report, {}));
  CHECK_FALSE(must_write(meant, stripped, std::nullopt, silent));
  CHECK(must_write(meant, complete, std::nullopt, silent));
  SUBCASE("once more, when the server may be another one") {
    auto again = report;
    again.retry = true;
    CHECK(must_write(meant, stripped, again, {}));
  }
  SUBCASE("something new") {
    auto other = meant;
    other.conditions[0].message = "Serving more.";
    CHECK(must_write(other, stripped, report, {}));
  }
  SUBCASE("the finalizer and the mark, until they are kept") {
    auto bare = stripped;
    SUBCASE("the finalizer") {
      bare.finalizers.clear();
    }
    SUBCASE("the mark") {
      bare.annotations.clear();
    }
    CHECK(must_write(meant, bare, Report{.meant = meant, .shown = owned_fields(bare)}, {}));
  }
}

TEST_CASE("what a server did not keep has a name") {
  const auto sent = served(marked());
  const auto kept = [&](const Drops& drops) {
    return not_kept(sent, owned_fields(accepted(marked(), without(sent, drops))));
  };
  CHECK(kept({}).empty());
  CHECK(kept({.ports = true}) == "status.loadBalancer.ingress.ports");
  CHECK(kept({.ip_mode = true, .conditions = true}) ==
        "status.loadBalancer.ingress.ipMode, status.conditions");
  auto changed = owned_fields(accepted(marked(), sent));
  changed.conditions[0].message = "cut";
  CHECK(not_kept(sent, changed) == "some of the values");
  changed.observed.clear();
  CHECK(not_kept(sent, changed) == "kindlb.dev/observed");
}

#include "core/eligibility_support.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>

using namespace kindlb::core;
using namespace kindlb::test;

TEST_CASE("whose Service is it") {
  struct Case {
    const char* name;
    Service in;
    Policy policy;
    Claim want;
  };
  const Case cases[] = {
      {"ClusterIP, never ours", a_service().of_type(ServiceType::ClusterIp), {}, Claim::NotOurs},
      {"NodePort, never ours", a_service().of_type(ServiceType::NodePort), {}, Claim::NotOurs},
      {"ExternalName, never ours",
       a_service().of_type(ServiceType::ExternalName),
       {},
       Claim::NotOurs},
      {"ClusterIP with a class of ours left on it",
       a_service().of_type(ServiceType::ClusterIp).of_class(kOurClass),
       {},
       Claim::NotOurs},
      {"no class", a_service(), {}, Claim::Ours},
      {"no class, but one is required", a_service(), requiring_class(), Claim::NotOurs},
      {"an empty class is no class", a_service().of_class(""), {}, Claim::Ours},
      {"an empty class does not satisfy a requirement", a_service().of_class(""), requiring_class(),
       Claim::NotOurs},
      {"the default class", a_service().of_class(kOurClass), {}, Claim::Ours},
      {"the default class where one is required", a_service().of_class(kOurClass),
       requiring_class(), Claim::Ours},
      {"the second configured class", a_service().of_class("example.com/b"), with_classes(),
       Claim::Ours},
      {"the default class, not configured", a_service().of_class(kOurClass), with_classes(),
       Claim::NotOurs},
      {"no class while classes are configured", a_service(), with_classes(), Claim::Ours},
      {"any other class", a_service().of_class("example.com/x"), {}, Claim::NotOurs},
      {"another class, and the common finalizer proves nothing",
       a_service().of_class("example.com/x").with_finalizer(),
       {},
       Claim::NotOurs},
      {"a class that only begins like ours",
       a_service().of_class("kindlb.dev/envoy2"),
       {},
       Claim::NotOurs},
      {"classes are compared exactly",
       a_service().of_class("Kindlb.dev/envoy"),
       {},
       Claim::NotOurs},
      {"served already", once_ours(), {}, Claim::Ours},
      {"was ours, type changed away",
       once_ours().of_type(ServiceType::ClusterIp),
       {},
       Claim::ReleaseChanged},
      {"was ours, now NodePort",
       once_ours().of_type(ServiceType::NodePort),
       {},
       Claim::ReleaseChanged},
      {"was ours, a class is required since", once_ours(), requiring_class(),
       Claim::ReleaseChanged},
      {"was ours, deleted", once_ours().deleting(), {}, Claim::ReleaseDeleted},
      {"was ours, type changed and deleted",
       once_ours().of_type(ServiceType::ClusterIp).deleting(),
       {},
       Claim::ReleaseDeleted},
      {"deleted before we wrote anything", a_service().deleting(), {}, Claim::NotOurs},
      {"deleted, another provider's finalizer",
       a_service().deleting().with_finalizer(),
       {},
       Claim::NotOurs},
      {"type changed away, another provider's finalizer",
       a_service().of_type(ServiceType::ClusterIp).with_finalizer(),
       {},
       Claim::NotOurs},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(claim_of(c.in, c.policy) == c.want);
    }
  }
}

TEST_CASE("the finalizer is found among others") {
  CHECK(has_finalizer(a_service().with_finalizer("example.com/a").with_finalizer()));
  CHECK_FALSE(has_finalizer(a_service().with_finalizer("example.com/a")));
  CHECK_FALSE(has_finalizer(a_service()));
}

namespace {

using ServiceEdit = std::function<void(Service&)>;
struct EditCase {
  const char* name;
  ServiceEdit edit;
};

Service a_full_service() {
  return a_service()
      .with_port(80)
      .with_port(53, Protocol::Udp)
      .with_source_range("10.0.0.0/8")
      .requiring("Ports")
      .annotated("kindlb.dev/required-load-balancer-features", "IPFamilies");
}

}  // namespace

TEST_CASE("each load-balancer-related field changes the observed hash") {
  const EditCase cases[] = {
      {"type", [](Service& s) { s.spec.type = ServiceType::NodePort; }},
      {"class", [](Service& s) { s.spec.load_balancer_class = kOurClass; }},
      {"a port added", [](Service& s) { s.spec.ports.push_back({.port = 81}); }},
      {"a port removed", [](Service& s) { s.spec.ports.pop_back(); }},
      {"port number", [](Service& s) { s.spec.ports[0].port = 81; }},
      {"port name", [](Service& s) { s.spec.ports[0].name = "http"; }},
      {"protocol", [](Service& s) { s.spec.ports[0].protocol = Protocol::Sctp; }},
      {"target port", [](Service& s) { s.spec.ports[0].target_port = "http"; }},
      {"node port", [](Service& s) { s.spec.ports[0].node_port = 31000; }},
      {"ports swapped", [](Service& s) { std::swap(s.spec.ports[0], s.spec.ports[1]); }},
      {"families", [](Service& s) { s.spec.ip_families = {IpFamily::V6}; }},
      {"a family added", [](Service& s) { s.spec.ip_families.push_back(IpFamily::V6); }},
      {"family policy", [](Service& s) { s.spec.family_policy = FamilyPolicy::PreferDualStack; }},
      {"affinity", [](Service& s) { s.spec.affinity = Affinity::ClientIp; }},
      {"affinity's time", [](Service& s) { s.spec.affinity_seconds = 60; }},
      {"source ranges", [](Service& s) { s.spec.source_ranges = {"10.0.0.0/9"}; }},
      {"source ranges emptied", [](Service& s) { s.spec.source_ranges.clear(); }},
      {"loadBalancerIP", [](Service& s) { s.spec.load_balancer_ip = "172.18.0.9"; }},
      {"traffic policy", [](Service& s) { s.spec.external_traffic_policy = TrafficPolicy::Local; }},
      {"node port allocation", [](Service& s) { s.spec.allocate_node_ports = false; }},
      {"health-check node port", [](Service& s) { s.spec.health_check_node_port = 32000; }},
      {"cluster IP allocation", [](Service& s) { s.spec.allocate_cluster_ip = false; }},
      {"health-check node port allocation",
       [](Service& s) { s.spec.allocate_health_check_node_port = false; }},
      {"application protocol", [](Service& s) { s.spec.ports[0].app_protocol = "http"; }},
      {"application protocol of the other port",
       [](Service& s) { s.spec.ports[1].app_protocol = "http"; }},
      {"traffic distribution", [](Service& s) { s.spec.traffic_distribution = "PreferSameZone"; }},
      {"required features", [](Service& s) { s.spec.required_features = {"IPFamilies"}; }},
      {"a kindlb.dev annotation added", [](Service& s) { s.annotations["kindlb.dev/x"] = "y"; }},
      {"a kindlb.dev annotation changed",
       [](Service& s) { s.annotations["kindlb.dev/required-load-balancer-features"] = "Ports"; }},
      {"a kindlb.dev annotation removed",
       [](Service& s) { s.annotations.erase("kindlb.dev/required-load-balancer-features"); }},
      {"the source ranges annotation",
       [](Service& s) {
         s.annotations["service.beta.kubernetes.io/load-balancer-source-ranges"] = "10.0.0.0/8";
       }},
  };
  std::set<std::string> seen = {observed_hash(a_full_service(), Policy{})};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    auto service = a_full_service();
    c.edit(service);
    CHECK(seen.insert(observed_hash(service, Policy{})).second);
  }
}

TEST_CASE("nothing else changes the observed hash") {
  const EditCase cases[] = {
      {"the observed annotation itself",
       [](Service& s) { s.annotations[kObservedAnnotation] = "x"; }},
      {"an unrelated annotation", [](Service& s) { s.annotations["example.com/team"] = "blue"; }},
      {"an annotation that only begins alike",
       [](Service& s) { s.annotations["kindlb.device/x"] = "y"; }},
      {"the selector", [](Service& s) { s.spec.has_selector = !s.spec.has_selector; }},
      {"resourceVersion (a label edit, say)", [](Service& s) { s.resource_version = "77"; }},
      {"uid", [](Service& s) { s.uid = "other"; }},
      {"a finalizer", [](Service& s) { s.finalizers.emplace_back(kFinalizer); }},
      {"deletion", [](Service& s) { s.deleting = true; }},
      {"status", [](Service& s) { s.status.ingress.push_back({.ip = "172.18.0.9"}); }},
      {"conditions",
       [](Service& s) { s.status.conditions.push_back({.type = kServingCondition}); }},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      auto service = a_full_service();
      c.edit(service);
      CHECK(observed_hash(service, Policy{}) == observed_hash(a_full_service(), Policy{}));
    }
  }
}

TEST_CASE("the observed hash is an annotation value that survives a restart") {
  const auto hash = observed_hash(a_full_service(), Policy{});
  CHECK(hash.size() == 16);
  CHECK(hash.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(hash == observed_hash(a_full_service(), Policy{}));
}

namespace {

Service edited(Service service, const ServiceEdit& edit) {
  edit(service);
  return service;
}

Policy azure() {
  Policy out;
  out.capabilities.mixed_protocols_annotation =
      "service.beta.kubernetes.io/azure-load-balancer-mixed-protocols";
  return out;
}

}  // namespace

// Computed by the release before this one (scripts/previous-release.sh). kindlb.dev/observed holds
// these values in clusters: with another one, the first pass after an upgrade would write to every
// Service and claim that its spec has changed.
TEST_CASE("a Service that uses no later field has the hash of the previous release") {
  struct Case {
    const char* name;
    Service service;
    const char* hash;
    Policy policy = {};
  };
  const Case cases[] = {
      {"nothing", Service{}, "001fad53abdda159"},
      {"one port", web(), "6fb14dde6fb84927"},
      {"two protocols", a_service().with_port(53).with_port(53, Protocol::Udp), "a165e718dd080871"},
      {"a class", web().of_class(kOurClass), "174cd63e2f4c034f"},
      {"two families",
       edited(web().with_families({IpFamily::V6, IpFamily::V4}),
              [](Service& s) { s.spec.family_policy = FamilyPolicy::RequireDualStack; }),
       "e1e6ebe99685cf1f"},
      {"affinity",
       edited(web().with_affinity(), [](Service& s) { s.spec.affinity_seconds = 10'800; }),
       "d3a64d312b7e648d"},
      {"affinity with a timeout",
       edited(web().with_affinity(), [](Service& s) { s.spec.affinity_seconds = 60; }),
       "38a890fc3258efcf"},
      {"Local", edited(web().local(), [](Service& s) { s.spec.health_check_node_port = 32000; }),
       "898ed568f643978f"},
      {"no node ports", web().without_node_ports(), "b2fbe7a1fd288371"},
      {"source ranges and an address", web().with_source_range("10.0.0.0/8").with_ip("172.18.0.9"),
       "40a55faf0d8b2da4"},
      {"required features",
       web().requiring("Ports").annotated("kindlb.dev/required-load-balancer-features",
                                          "IPFamilies"),
       "bfde1f6567e1f5a2"},
      {"the source ranges annotation",
       web().annotated("service.beta.kubernetes.io/load-balancer-source-ranges", "10.0.0.0/8"),
       "bc43515efab680bd"},
      {"a profile's annotation",
       web().annotated("service.beta.kubernetes.io/azure-load-balancer-mixed-protocols", "true"),
       "a87df34a647cd9fe", azure()},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(observed_hash(c.service, c.policy) == c.hash);
  }
}

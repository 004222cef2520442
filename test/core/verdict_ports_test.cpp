// Which ports are opened together: protocols, mixed protocols (KEP-1435's survey), one port only,
// and one family only.
#include "core/verdict_support.hpp"
#include "kindlb/core/verdict.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::a_service;
using kindlb::test::judged;
using kindlb::test::mentions;
using kindlb::test::ServiceBuilder;

namespace {

constexpr const char* kMixing = "example.com/mixed";

/// "TCP/80 TCP/443": the open ones.
std::string open_of(const Verdict& verdict) {
  std::string out;
  for (const auto& port : verdict.ports)
    out += (out.empty() ? "" : " ") + std::string(name_of(port.protocol)) + "/" +
           std::to_string(port.port);
  return out;
}

ServiceBuilder dns() {
  return a_service().with_port(53, Protocol::Udp).with_port(53, Protocol::Tcp);
}
ServiceBuilder web_and_dns() {
  return a_service().with_port(80).with_port(53, Protocol::Udp).with_port(443);
}

struct PortsCase {
  const char* name;
  ServiceBuilder asks;
  MixedProtocols mixing;
  const char* annotation;  ///< that mixing needs; empty: none
  const char* open;
  const char* words;  ///< in the reason; empty: served as asked
};

}  // namespace

TEST_CASE("mixed protocols") {
  const auto any = MixedProtocols::Any;
  const auto distinct = MixedProtocols::DistinctPorts;
  const auto none = MixedProtocols::None;
  const PortsCase cases[] = {
      {"any: TCP and UDP", web_and_dns(), any, "", "TCP/80 UDP/53 TCP/443", ""},
      {"any: on one number", dns(), any, "", "UDP/53 TCP/53", ""},
      {"distinct: TCP and UDP", web_and_dns(), distinct, "", "TCP/80 UDP/53 TCP/443", ""},
      {"distinct: on one number", dns(), distinct, "", "UDP/53", "TCP/53"},
      {"distinct: the number twice, later", web_and_dns().with_port(80, Protocol::Udp), distinct,
       "", "TCP/80 UDP/53 TCP/443", "UDP/80"},
      {"none: only TCP", a_service().with_port(80).with_port(443), none, "", "TCP/80 TCP/443", ""},
      {"none: the first port's protocol goes", web_and_dns(), none, "", "TCP/80 TCP/443",
       "protocols cannot be mixed"},
      {"none: UDP first", dns(), none, "", "UDP/53", "TCP/53 is not opened beside UDP"},
      {"none: SCTP first does not count, it was not opened",
       a_service().with_port(9, Protocol::Sctp).with_port(53, Protocol::Udp).with_port(80), none,
       "", "UDP/53", "SCTP/9 is not supported"},
      {"annotation absent", web_and_dns(), any, kMixing, "TCP/80 TCP/443", kMixing},
      {"annotation false", web_and_dns().annotated(kMixing, "false"), any, kMixing,
       "TCP/80 TCP/443", "\"true\" allows it"},
      {"annotation true", web_and_dns().annotated(kMixing, "true"), any, kMixing,
       "TCP/80 UDP/53 TCP/443", ""},
      {"annotation true, with blanks", web_and_dns().annotated(kMixing, " true "), any, kMixing,
       "TCP/80 UDP/53 TCP/443", ""},
      {"annotation true, distinct ports", dns().annotated(kMixing, "true"), distinct, kMixing,
       "UDP/53", "cannot be used by two protocols"},
      {"annotation not asked for", web_and_dns().annotated(kMixing, "false"), any, "",
       "TCP/80 UDP/53 TCP/443", ""},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Capabilities can;
      can.mixed_protocols = c.mixing;
      can.mixed_protocols_annotation = c.annotation;
      const auto verdict = judged(c.asks, can);
      CHECK(open_of(verdict) == c.open);
      CHECK(verdict.port_status.size() == c.asks.build().spec.ports.size());
      CHECK(verdict.outcome == (*c.words == '\0' ? Outcome::Serve : Outcome::Degrade));
      CHECK(mentions(summary_message(verdict.reasons), c.words));
      auto required = c.asks;
      CHECK(judged(required.requiring("Ports"), can).outcome ==
            (*c.words == '\0' ? Outcome::Serve : Outcome::Refuse));
    }
  }
}

TEST_CASE("ports are closed for several reasons at once, and each is named") {
  Capabilities can;
  can.mixed_protocols = MixedProtocols::None;
  const auto verdict = judged(web_and_dns().with_port(9, Protocol::Sctp), can);
  REQUIRE(verdict.reasons.size() == 1);
  CHECK(mentions(verdict.reasons[0].message, "SCTP/9"));
  CHECK(mentions(verdict.reasons[0].message, "UDP/53"));
  CHECK(summary_reason(verdict.reasons) == "PortsNotSupported");
}

TEST_CASE("one port only: the first that can be opened") {
  Capabilities can;
  can.several_ports = false;
  const auto verdict =
      judged(a_service().with_port(9, Protocol::Sctp).with_port(80).with_port(443), can);
  CHECK(open_of(verdict) == "TCP/80");
  CHECK(verdict.outcome == Outcome::Degrade);
  CHECK(mentions(verdict.reasons[0].message, "only one port"));
  CHECK(mentions(verdict.reasons[0].message, "TCP/443"));
  CHECK(judged(a_service().with_port(80), can).outcome == Outcome::Serve);
}

TEST_CASE("one family only: the Service's first that can be had") {
  Capabilities can;
  can.dual_stack = false;
  const auto both = {IpFamily::V6, IpFamily::V4};
  const auto verdict = judged(a_service().with_port(80).with_families(both), can);
  CHECK(verdict.families == std::vector{IpFamily::V6});
  CHECK(verdict.outcome == Outcome::Degrade);
  CHECK(mentions(verdict.reasons[0].message, "only IPv6 is served"));
  CHECK(judged(a_service().with_port(80).with_families({IpFamily::V6}), can).outcome ==
        Outcome::Serve);
  can.families = {IpFamily::V4};
  CHECK(judged(a_service().with_port(80).with_families(both), can).families ==
        std::vector{IpFamily::V4});
}

TEST_CASE("acting as if a feature were missing is as if it were") {
  struct Case {
    const char* feature;
    ServiceBuilder asks;
    const char* reason;
  };
  const Case cases[] = {
      {"IPFamilies", a_service().with_port(80).with_families({IpFamily::V4, IpFamily::V6}),
       "IPFamiliesNotSupported"},
      {"Ports", a_service().with_port(80).with_port(443), "PortsNotSupported"},
      {"SessionAffinity", a_service().with_port(80).with_affinity(), "SessionAffinityNotSupported"},
      {"LoadBalancerIP", a_service().with_port(80).with_ip("172.18.0.9"),
       "LoadBalancerIPNotSupported"},
      {"LoadBalancerSourceRanges", a_service().with_port(80).with_source_range("10.0.0.0/8"),
       "LoadBalancerSourceRangesNotSupported"},
      {"ExternalTrafficPolicy", a_service().with_port(80).local(),
       "ExternalTrafficPolicyNotSupported"},
  };
  Capabilities can;
  can.preserves_source_ip = true;  // so that there is something to miss
  for (const auto& c : cases) {
    SUBCASE(c.feature) {
      CHECK(judged(c.asks, can).outcome == Outcome::Serve);
      auto without = c.asks;
      const auto verdict =
          judged(without.annotated("kindlb.dev/fault-unsupported", c.feature), can);
      CHECK(verdict.outcome == Outcome::Degrade);
      CHECK(summary_reason(verdict.reasons) == c.reason);
      CHECK(judged(without.requiring(c.feature), can).outcome == Outcome::Refuse);
      auto unasked = a_service().with_port(80);
      CHECK(judged(unasked.annotated("kindlb.dev/fault-unsupported", c.feature), can).outcome ==
            Outcome::Serve);
    }
  }
}

TEST_CASE("the refusal for missing node ports names the flag, profile or annotation") {
  const auto refused = [](const Service& service, const Policy& policy) {
    const auto verdict = evaluate(service, policy, {});
    CHECK(verdict.outcome == Outcome::Refuse);
    return summary_message(verdict.reasons);
  };
  const auto service = a_service().with_port(80).without_node_ports();
  auto annotated = service;
  annotated.annotated("kindlb.dev/datapath", "nodeport");
  Policy only_node_ports;
  only_node_ports.capabilities.direct_path = false;
  CHECK(mentions(refused(service, {.datapath = Datapath::NodePort}), "--datapath nodeport"));
  CHECK(mentions(refused(service, only_node_ports), "profile"));
  CHECK(mentions(refused(annotated, {}), "annotation kindlb.dev/datapath"));
}

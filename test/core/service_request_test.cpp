// What a Service asks for by annotation: each one well written, badly written, and unknown.
#include "kindlb/core/service_request.hpp"

#include "support/builders.hpp"
#include "support/mentions.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace kindlb::core;
using namespace std::chrono_literals;
using kindlb::test::a_service;
using kindlb::test::mentions;
using kindlb::test::ServiceBuilder;

namespace {

ServiceRequest request_with(const std::string& annotation, const std::string& value) {
  return request_of(a_service().with_port(80).annotated(annotation, value));
}

}  // namespace

TEST_CASE("a Service without annotations requests nothing") {
  CHECK(request_of(a_service().with_port(80)) == ServiceRequest{});
}

TEST_CASE("annotations that make sense") {
  struct Case {
    const char* name;
    const char* annotation;
    const char* value;
    std::function<bool(const ServiceRequest&)> holds;
  };
  const Case cases[] = {
      {"datapath auto", "kindlb.dev/datapath", "auto",
       [](const ServiceRequest& w) { return w.datapath == Datapath::Auto; }},
      {"datapath direct", "kindlb.dev/datapath", "direct",
       [](const ServiceRequest& w) { return w.datapath == Datapath::Direct; }},
      {"datapath nodeport, with blanks", "kindlb.dev/datapath", " nodeport\n",
       [](const ServiceRequest& w) { return w.datapath == Datapath::NodePort; }},
      {"proxy protocol v1", "kindlb.dev/proxy-protocol", "v1",
       [](const ServiceRequest& w) { return w.proxy_protocol == ProxyProtocol::V1; }},
      {"proxy protocol v2, with blanks", "kindlb.dev/proxy-protocol", " v2 ",
       [](const ServiceRequest& w) { return w.proxy_protocol == ProxyProtocol::V2; }},
      {"proxy protocol none", "kindlb.dev/proxy-protocol", "none",
       [](const ServiceRequest& w) { return w.proxy_protocol == ProxyProtocol::None; }},
      {"delay", "kindlb.dev/fault-provisioning-delay", " 1m30s ",
       [](const ServiceRequest& w) { return w.faults.provisioning_delay == 90s; }},
      {"no delay", "kindlb.dev/fault-provisioning-delay", "0s",
       [](const ServiceRequest& w) { return w.faults.provisioning_delay == 0s; }},
      {"infrastructure", "kindlb.dev/fault-infrastructure", " quota exceeded ",
       [](const ServiceRequest& w) { return w.faults.infrastructure == "quota exceeded"; }},
      {"unsupported", "kindlb.dev/fault-unsupported", "SessionAffinity, Ports",
       [](const ServiceRequest& w) {
         return w.faults.unsupported == std::set<std::string>{"Ports", "SessionAffinity"};
       }},
      {"interrupt", "kindlb.dev/fault-interrupt-on-update", "true",
       [](const ServiceRequest& w) { return w.faults.interrupt_on_update; }},
      {"no interrupt", "kindlb.dev/fault-interrupt-on-update", "false",
       [](const ServiceRequest& w) { return !w.faults.interrupt_on_update; }},
      {"required features", "kindlb.dev/required-load-balancer-features", "Ports,,Teleport",
       [](const ServiceRequest& w) {
         return w.required == std::set<std::string>{"Ports", "Teleport"};
       }},
      {"addresses", "kindlb.dev/load-balancer-ips", "172.18.0.9",
       [](const ServiceRequest& w) { return w.addresses.by_family.size() == 1; }},
      {"what we wrote ourselves", kObservedAnnotation, "0123456789abcdef",
       [](const ServiceRequest& w) { return w == ServiceRequest{}; }},
      {"of another provider", "example.com/datapath", "direct",
       [](const ServiceRequest& w) { return w == ServiceRequest{}; }},
      {"a name that only begins like ours", "kindlb.devil/datapath", "direct",
       [](const ServiceRequest& w) { return w == ServiceRequest{}; }},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto request = request_with(c.annotation, c.value);
      CHECK(c.holds(request));
      CHECK(request.mistakes.empty());
    }
  }
}

TEST_CASE("annotations that make none are ignored and named with the way out") {
  struct Case {
    const char* name;
    const char* annotation;
    const char* value;
    const char* advice;
  };
  const Case cases[] = {
      {"datapath", "kindlb.dev/datapath", "tunnel", "use auto, direct or nodeport"},
      {"datapath, empty", "kindlb.dev/datapath", "", "use auto, direct or nodeport"},
      {"datapath is compared exactly", "kindlb.dev/datapath", "Direct", "use auto"},
      {"proxy protocol", "kindlb.dev/proxy-protocol", "2", "use v1, v2 or none"},
      {"delay", "kindlb.dev/fault-provisioning-delay", "soon", "20s"},
      {"delay beyond an hour", "kindlb.dev/fault-provisioning-delay", "2h", "at most 1h"},
      {"infrastructure, empty", "kindlb.dev/fault-infrastructure", " ", "quota exceeded"},
      {"unsupported, unknown", "kindlb.dev/fault-unsupported", "Teleport", "SessionAffinity"},
      {"unsupported, partly unknown", "kindlb.dev/fault-unsupported", "Ports,Teleport", "Ports"},
      {"unsupported, empty", "kindlb.dev/fault-unsupported", "", "list one or more of"},
      {"interrupt", "kindlb.dev/fault-interrupt-on-update", "yes", "\"true\""},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      auto request = request_with(c.annotation, c.value);
      REQUIRE(request.mistakes.size() == 1);
      CHECK(mentions(request.mistakes[0], c.annotation));
      CHECK(mentions(request.mistakes[0], "\"" + std::string(c.value) + "\""));
      CHECK(mentions(request.mistakes[0], c.advice));
      request.mistakes.clear();
      CHECK(request == ServiceRequest{});
    }
  }
}

TEST_CASE("unknown annotations under our prefix are named") {
  const auto request = request_with("kindlb.dev/data-path", "direct");
  REQUIRE(request.mistakes.size() == 1);
  CHECK(mentions(request.mistakes[0], "kindlb.dev/data-path"));
  CHECK(mentions(request.mistakes[0], "spelling"));
}

TEST_CASE("every mistake is named, and what makes sense beside it counts") {
  const auto request = request_of(a_service()
                                      .with_port(80)
                                      .annotated("kindlb.dev/datapath", "direct")
                                      .annotated("kindlb.dev/fault-unsupported", "x")
                                      .annotated("kindlb.dev/what", "x"));
  CHECK(request.mistakes.size() == 2);
  CHECK(request.datapath == Datapath::Direct);
}

TEST_CASE("required features of the field and of the annotation are united") {
  const auto request =
      request_of(a_service()
                     .requiring("Ports")
                     .requiring("IPFamilies")
                     .annotated("kindlb.dev/required-load-balancer-features", "Ports, Beam"));
  CHECK(request.required == std::set<std::string>{"Beam", "IPFamilies", "Ports"});
}

TEST_CASE("the features a Service may require are those of the KEP") {
  for (const char* name : {"IPFamilies", "Ports", "SessionAffinity", "LoadBalancerIP",
                           "ExternalTrafficPolicy", "LoadBalancerSourceRanges"}) {
    CAPTURE(name);
    CHECK(is_known_feature(name));
  }
  for (const char* name : {"", "ports", "Ports ", "NodePorts", "TrafficDistribution"}) {
    CAPTURE(name);
    CHECK_FALSE(is_known_feature(name));
  }
}

TEST_CASE("delays that parse") {
  struct Case {
    const char* text;
    std::chrono::milliseconds want;
  };
  const Case cases[] = {
      {"0s", 0s},           {"20s", 20s}, {"1m30s", 90s}, {"30s1m", 90s},
      {"500ms", 500ms},     {"1h", 1h},   {"59m60s", 1h}, {"1m1s1ms", 61001ms},
      {"3600000ms", 3600s}, {"007s", 7s}, {"1s1s", 2s},
  };
  for (const auto& c : cases) {
    SUBCASE(c.text) {
      CHECK(parse_delay(c.text) == c.want);
    }
  }
}

TEST_CASE("what is not exactly a delay is refused") {
  for (const char* text :
       {"",      "s",     "20", "20 s",  " 20s", "20s ", "-1s",   "+1s",       "1.5s",
        "20S",   "20sec", "1d", "1h1ms", "61m",  "s20",  "20s30", "99999999s", "9999999h9999999h",
        "0x10s", "1µs"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_delay(text).has_value());
  }
}

TEST_CASE("which way the traffic goes: the annotation before the flag, and only what can be had") {
  struct Case {
    const char* name;
    std::optional<Datapath> annotation;
    Datapath flag;
    bool can_direct;
    Datapath want;
  };
  const Case cases[] = {
      {"neither", std::nullopt, Datapath::Auto, true, Datapath::Auto},
      {"the flag alone", std::nullopt, Datapath::Direct, true, Datapath::Direct},
      {"the annotation alone", Datapath::NodePort, Datapath::Auto, true, Datapath::NodePort},
      {"the annotation against the flag", Datapath::Direct, Datapath::NodePort, true,
       Datapath::Direct},
      {"back to auto", Datapath::Auto, Datapath::NodePort, true, Datapath::Auto},
      {"no direct path in this profile", std::nullopt, Datapath::Auto, false, Datapath::NodePort},
      {"and none by annotation", Datapath::Direct, Datapath::Direct, false, Datapath::NodePort},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Policy policy{.datapath = c.flag};
      policy.capabilities.direct_path = c.can_direct;
      CHECK(datapath_for({.datapath = c.annotation}, policy) == c.want);
    }
  }
}

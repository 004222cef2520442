// Source ranges and chosen addresses: the places a Service may write them, and how they are read.
#include "core/verdict_support.hpp"
#include "kindlb/core/service_request.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::a_service;
using kindlb::test::cidr;
using kindlb::test::ip;
using kindlb::test::kRangesAnnotation;
using kindlb::test::ServiceBuilder;

namespace {

constexpr const char* kAddressesAnnotation = "kindlb.dev/load-balancer-ips";

struct RangesCase {
  const char* name;
  ServiceBuilder asks;
  std::vector<std::string> ranges;
  std::vector<std::string> unreadable;
  const char* field;  ///< part of where they were found; empty: not given
};

std::vector<RangesCase> ranges_cases() {
  const auto web = a_service().with_port(80);
  const auto field = [&](const std::string& entry) {
    auto out = web;
    return out.with_source_range(entry);
  };
  const auto annotated = [&](const std::string& value) {
    auto out = web;
    return out.annotated(kRangesAnnotation, value);
  };
  return {
      {"none", web, {}, {}, ""},
      {"in the field", field("10.0.0.0/8"), {"10.0.0.0/8"}, {}, "spec.loadBalancerSourceRanges"},
      {"blanks around it", field("  10.0.0.0/8\t"), {"10.0.0.0/8"}, {}, "spec."},
      {"host bits are dropped", field("10.1.2.3/8"), {"10.0.0.0/8"}, {}, "spec."},
      {"IPv6 host bits, too", field("fc00::7/64"), {"fc00::/64"}, {}, "spec."},
      {"everybody", field("0.0.0.0/0"), {"0.0.0.0/0"}, {}, "spec."},
      {"one host", field("10.0.0.1/32"), {"10.0.0.1/32"}, {}, "spec."},
      {"without a length", field("10.0.0.1"), {}, {"10.0.0.1"}, "spec."},
      {"nonsense", field("office"), {}, {"office"}, "spec."},
      {"a blank entry admits no client", field("  "), {}, {""}, "spec."},
      {"nonsense beside a range",
       field("10.0.0.0/8").with_source_range("office"),
       {"10.0.0.0/8"},
       {"office"},
       "spec."},
      {"sorted, and each once",
       field("192.168.0.0/16").with_source_range("10.0.0.0/8").with_source_range("10.9.0.0/8"),
       {"10.0.0.0/8", "192.168.0.0/16"},
       {},
       "spec."},
      {"in the annotation",
       annotated("10.0.0.0/8, 192.168.0.0/16 ,"),
       {"10.0.0.0/8", "192.168.0.0/16"},
       {},
       kRangesAnnotation},
      {"an empty annotation", annotated(""), {}, {}, ""},
      {"a blank annotation", annotated(" \n"), {}, {}, ""},
      {"only commas: given, but empty", annotated(" , "), {}, {}, kRangesAnnotation},
      {"nonsense in the annotation", annotated("office"), {}, {"office"}, kRangesAnnotation},
      {"the field goes before the annotation",
       field("10.0.0.0/8").annotated(kRangesAnnotation, "192.168.0.0/16"),
       {"10.0.0.0/8"},
       {},
       "spec."},
      {"even a field that cannot be parsed",
       field("office").annotated(kRangesAnnotation, "192.168.0.0/16"),
       {},
       {"office"},
       "spec."},
  };
}

}  // namespace

TEST_CASE("how source ranges are read") {
  for (const auto& c : ranges_cases()) {
    SUBCASE(c.name) {
      const auto ranges = request_of(c.asks).ranges;
      std::vector<std::string> texts;
      for (const auto& each : ranges.ranges) texts.push_back(each.text());
      CHECK(texts == c.ranges);
      CHECK(ranges.unreadable == c.unreadable);
      CHECK(ranges.given() == !std::string(c.field).empty());
      CHECK(ranges.field.find(c.field) != std::string::npos);
    }
  }
}

TEST_CASE("source ranges by family") {
  const auto ranges = request_of(a_service()
                                     .with_source_range("fc00::/7")
                                     .with_source_range("10.0.0.0/8")
                                     .with_source_range("192.168.0.0/16"))
                          .ranges;
  CHECK(ranges.of(IpFamily::V4) == std::vector{cidr("10.0.0.0/8"), cidr("192.168.0.0/16")});
  CHECK(ranges.of(IpFamily::V6) == std::vector{cidr("fc00::/7")});
  CHECK(request_of(a_service().with_source_range("fc00::/7")).ranges.of(IpFamily::V4).empty());
}

TEST_CASE("source ranges that cannot be parsed are no annotation mistake: they admit no client") {
  CHECK(request_of(a_service().annotated(kRangesAnnotation, "office")).mistakes.empty());
}

namespace {

struct AddressCase {
  const char* name;
  ServiceBuilder asks;
  const char* v4;
  const char* v6;
  std::vector<std::string> problems;
};

}  // namespace

TEST_CASE("how chosen addresses are read") {
  const auto web = a_service().with_port(80);
  const auto annotated = [&](const std::string& value) {
    auto out = web;
    return out.annotated(kAddressesAnnotation, value);
  };
  const AddressCase cases[] = {
      {"none", web, "", "", {}},
      {"the field", a_service().with_ip("172.18.0.9"), "172.18.0.9", "", {}},
      {"the field, with blanks", a_service().with_ip(" 172.18.0.9 "), "172.18.0.9", "", {}},
      {"the field, IPv6", a_service().with_ip("fc00::9"), "", "fc00::9", {}},
      {"a blank field", a_service().with_ip("  "), "", "", {}},
      {"the annotation", annotated("172.18.0.9"), "172.18.0.9", "", {}},
      {"the annotation, one per family",
       annotated("fc00::9, 172.18.0.9"),
       "172.18.0.9",
       "fc00::9",
       {}},
      {"the annotation before the field",
       annotated("172.18.0.9").with_ip("172.18.0.8"),
       "172.18.0.9",
       "",
       {}},
      {"each for its family",
       annotated("fc00::9").with_ip("172.18.0.8"),
       "172.18.0.8",
       "fc00::9",
       {}},
      {"an empty annotation leaves the field",
       annotated(" ,").with_ip("172.18.0.8"),
       "172.18.0.8",
       "",
       {}},
      {"nonsense in the field",
       a_service().with_ip("web.example.com"),
       "",
       "",
       {"spec.loadBalancerIP web.example.com is not an IP address"}},
      {"a prefix is no address",
       a_service().with_ip("172.18.0.9/32"),
       "",
       "",
       {"spec.loadBalancerIP 172.18.0.9/32 is not an IP address"}},
      {"nonsense beside an address",
       annotated("172.18.0.9,x"),
       "172.18.0.9",
       "",
       {"annotation kindlb.dev/load-balancer-ips x is not an IP address"}},
      {"more than one of a family",
       annotated("172.18.0.9,172.18.0.8"),
       "172.18.0.9",
       "",
       {"annotation kindlb.dev/load-balancer-ips 172.18.0.8 is a second IPv4 address"}},
      {"the same one twice", annotated("172.18.0.9,172.18.0.9"), "172.18.0.9", "", {}},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto chosen = request_of(c.asks).addresses;
      std::map<IpFamily, IpAddress> want;
      if (*c.v4 != '\0') want.emplace(IpFamily::V4, ip(c.v4));
      if (*c.v6 != '\0') want.emplace(IpFamily::V6, ip(c.v6));
      CHECK(chosen.by_family == want);
      CHECK(chosen.field.size() == want.size());
      CHECK(chosen.problems == c.problems);
      CHECK(chosen.given() == (!want.empty() || !c.problems.empty()));
    }
  }
}

TEST_CASE("a chosen address knows the words it was asked for in") {
  const auto chosen =
      request_of(a_service().annotated(kAddressesAnnotation, "fc00::9").with_ip("172.18.0.8"))
          .addresses;
  CHECK(chosen.field.at(IpFamily::V4) == "spec.loadBalancerIP");
  CHECK(chosen.field.at(IpFamily::V6) == "annotation kindlb.dev/load-balancer-ips");
}

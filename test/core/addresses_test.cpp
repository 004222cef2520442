#include "kindlb/core/addresses.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::a_service;
using kindlb::test::cidr;
using kindlb::test::ip;
using kindlb::test::text_of;

namespace {

AddressSpace subnet_space(const std::string& subnet, const std::vector<std::string>& taken = {}) {
  AddressSpace out{cidr(subnet), {}};
  for (const auto& address : taken) out.taken.insert(ip(address));
  return out;
}

}  // namespace

TEST_CASE("which addresses a Service may hold") {
  struct Case {
    const char* name;
    const char* address;
    bool want;
  };
  const Case cases[] = {
      {"inside and free", "172.18.0.9", true},
      {"the highest", "172.18.0.254", true},
      {"the network itself", "172.18.0.0", false},
      {"the broadcast address", "172.18.0.255", false},
      {"the gateway, held", "172.18.0.1", false},
      {"a node, held", "172.18.0.2", false},
      {"outside", "172.18.1.9", false},
      {"another family", "fc00::9", false},
  };
  const auto net = subnet_space("172.18.0.0/24", {"172.18.0.1", "172.18.0.2"});
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(is_usable(ip(c.address), net) == c.want);
    }
  }
}

TEST_CASE("the highest free address") {
  struct Case {
    const char* name;
    AddressSpace in;
    const char* want;
  };
  const Case cases[] = {
      {"an empty network", subnet_space("172.18.0.0/16"), "172.18.255.254"},
      {"the top is held", subnet_space("172.18.0.0/16", {"172.18.255.254", "172.18.255.253"}),
       "172.18.255.252"},
      {"a hole is filled", subnet_space("10.0.0.0/29", {"10.0.0.6", "10.0.0.4"}), "10.0.0.5"},
      {"a subnet written with host bits", subnet_space("172.18.3.4/24"), "172.18.3.254"},
      {"crossing a byte", subnet_space("10.0.0.0/23", {"10.0.1.254", "10.0.1.253"}), "10.0.1.252"},
      {"IPv6", subnet_space("fc00:f853:ccd:e793::/64"), "fc00:f853:ccd:e793:ffff:ffff:ffff:fffe"},
      {"all held", subnet_space("10.0.0.0/30", {"10.0.0.1", "10.0.0.2"}), "none"},
      {"no room between first and last", subnet_space("10.0.0.0/31"), "none"},
      {"a single address", subnet_space("10.0.0.0/32"), "none"},
      {"the lowest possible subnet", subnet_space("0.0.0.0/31"), "none"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(text_of(highest_free(c.in)) == c.want);
    }
  }
}

TEST_CASE("a usable preference is kept before anything is allocated") {
  struct Case {
    const char* name;
    std::vector<IpAddress> preferred;
    const char* want;
  };
  const Case cases[] = {
      {"none", {}, "172.18.0.254"},
      {"the one it has", {ip("172.18.0.100")}, "172.18.0.100"},
      {"the first of several", {ip("172.18.0.9"), ip("172.18.0.100")}, "172.18.0.9"},
      {"past one that is held", {ip("172.18.0.1"), ip("172.18.0.100")}, "172.18.0.100"},
      {"past one outside", {ip("192.168.0.9"), ip("172.18.0.100")}, "172.18.0.100"},
      {"past another family", {ip("fc00::9"), ip("172.18.0.100")}, "172.18.0.100"},
      {"only unusable ones", {ip("172.18.0.1"), ip("172.18.0.0")}, "172.18.0.254"},
  };
  const auto net = subnet_space("172.18.0.0/24", {"172.18.0.1"});
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(text_of(choose_address(net, c.preferred)) == c.want);
    }
  }
}

TEST_CASE("a full network still gives what is preferred and free") {
  const auto full = subnet_space("10.0.0.0/30", {"10.0.0.1", "10.0.0.2"});
  CHECK_FALSE(choose_address(full, {ip("10.0.0.1")}).has_value());
  const auto almost = subnet_space("10.0.0.0/30", {"10.0.0.1"});
  CHECK(text_of(choose_address(almost, {ip("10.0.0.2")})) == "10.0.0.2");
}

TEST_CASE("the addresses a status reports, by family and in order") {
  auto service = a_service()
                     .reporting("172.18.0.9")
                     .reporting("fc00::9")
                     .reporting("172.18.0.8")
                     .reporting("not an address")
                     .build();
  service.status.ingress.push_back({.hostname = "lb.example.com"});
  CHECK(reported_addresses(service, IpFamily::V4) ==
        std::vector{ip("172.18.0.9"), ip("172.18.0.8")});
  CHECK(reported_addresses(service, IpFamily::V6) == std::vector{ip("fc00::9")});
  CHECK(reported_addresses(a_service(), IpFamily::V4).empty());
}

// Ranges that new addresses come from, and why an address cannot be had.
#include "kindlb/core/addresses.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::cidr;
using kindlb::test::ip;
using kindlb::test::range;
using kindlb::test::text_of;

namespace {

AddressSpace space(const std::string& subnet, const std::vector<std::string>& pools,
                   const std::vector<std::string>& taken = {}) {
  AddressSpace out{.subnet = cidr(subnet), .taken = {}, .pools = {}};
  for (const auto& pool : pools) out.pools.push_back(range(pool));
  for (const auto& address : taken) out.taken.insert(ip(address));
  return out;
}

}  // namespace

TEST_CASE("ranges that parse, and how they print") {
  struct Case {
    const char* text;
    const char* first;
    const char* last;
    const char* printed;
  };
  const Case cases[] = {
      {"172.18.200.1-172.18.200.9", "172.18.200.1", "172.18.200.9", "172.18.200.1-172.18.200.9"},
      {"172.18.200.0/30", "172.18.200.0", "172.18.200.3", "172.18.200.0-172.18.200.3"},
      {"172.18.200.2/30", "172.18.200.0", "172.18.200.3", "172.18.200.0-172.18.200.3"},
      {"172.18.200.7", "172.18.200.7", "172.18.200.7", "172.18.200.7"},
      {"172.18.200.7/32", "172.18.200.7", "172.18.200.7", "172.18.200.7"},
      {"172.18.200.7-172.18.200.7", "172.18.200.7", "172.18.200.7", "172.18.200.7"},
      {"fc00::1-fc00::ff", "fc00::1", "fc00::ff", "fc00::1-fc00::ff"},
      {"fc00::/126", "fc00::", "fc00::3", "fc00::-fc00::3"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.text) {
      const auto parsed = AddressRange::parse(c.text);
      REQUIRE(parsed.has_value());
      CHECK(parsed->first == ip(c.first));
      CHECK(parsed->last == ip(c.last));
      CHECK(parsed->family() == ip(c.first).family());
      CHECK(parsed->text() == c.printed);
      CHECK(AddressRange::parse(parsed->text()) == parsed);
    }
  }
}

TEST_CASE("what is not exactly a range is refused") {
  for (const char* text : {"", "-", "10.0.0.1-", "-10.0.0.1", "10.0.0.9-10.0.0.1",
                           "10.0.0.1-fc00::1", "10.0.0.1 - 10.0.0.9", "10.0.0.1-10.0.0.2-10.0.0.3",
                           "10.0.0.0/33", "10.0.0.0/8-10.1.0.0", "10.0.0.1-9", "all"}) {
    CAPTURE(text);
    CHECK_FALSE(AddressRange::parse(text).has_value());
  }
}

TEST_CASE("a range contains its ends, what is between, and nothing of the other family") {
  const auto some = range("10.0.0.250-10.0.1.5");
  for (const char* inside : {"10.0.0.250", "10.0.0.255", "10.0.1.0", "10.0.1.5"}) {
    CAPTURE(inside);
    CHECK(some.contains(ip(inside)));
  }
  for (const char* outside : {"10.0.0.249", "10.0.1.6", "fc00::1", "::10.0.0.251"}) {
    CAPTURE(outside);
    CHECK_FALSE(some.contains(ip(outside)));
  }
}

TEST_CASE("the highest free address of the pools") {
  struct Case {
    const char* name;
    AddressSpace in;
    const char* want;
  };
  const Case cases[] = {
      {"one pool", space("172.18.0.0/16", {"172.18.5.1-172.18.5.9"}), "172.18.5.9"},
      {"the pool's top is held",
       space("172.18.0.0/16", {"172.18.5.1-172.18.5.9"}, {"172.18.5.9", "172.18.5.8"}),
       "172.18.5.7"},
      {"the pool is used up, whatever is free around it",
       space("172.18.0.0/16", {"172.18.5.1-172.18.5.2"}, {"172.18.5.1", "172.18.5.2"}), "none"},
      {"the higher of two pools", space("172.18.0.0/16", {"172.18.5.1", "172.18.9.1"}),
       "172.18.9.1"},
      {"in whichever order they are given", space("172.18.0.0/16", {"172.18.9.1", "172.18.5.1"}),
       "172.18.9.1"},
      {"the lower one when the higher is used up",
       space("172.18.0.0/16", {"172.18.9.1", "172.18.5.1-172.18.5.3"}, {"172.18.9.1"}),
       "172.18.5.3"},
      {"pools that overlap", space("172.18.0.0/16", {"172.18.5.1-172.18.5.9", "172.18.5.4/30"}),
       "172.18.5.9"},
      {"a pool as a prefix gives all of it", space("172.18.0.0/16", {"172.18.5.0/30"}),
       "172.18.5.3"},
      {"never the first or last of the network",
       space("172.18.0.0/24", {"172.18.0.254-172.18.0.255"}), "172.18.0.254"},
      {"a pool that reaches beyond the network", space("172.18.0.0/24", {"172.18.0.9-172.18.9.9"}),
       "172.18.0.254"},
      {"a pool that begins below the network", space("172.18.4.0/24", {"172.18.0.9-172.18.4.3"}),
       "172.18.4.3"},
      {"a pool above the network", space("172.18.0.0/24", {"172.18.1.0/24"}), "none"},
      {"a pool below the network", space("172.18.4.0/24", {"172.18.1.0/24"}), "none"},
      {"a pool of the other family", space("172.18.0.0/24", {"fc00::1-fc00::9"}), "none"},
      {"IPv6", space("fc00:0:0:1::/64", {"fc00:0:0:1::10-fc00:0:0:1::20"}), "fc00:0:0:1::20"},
      {"IPv6, the top is held",
       space("fc00:0:0:1::/64", {"fc00:0:0:1::10-fc00:0:0:1::20"}, {"fc00:0:0:1::20"}),
       "fc00:0:0:1::1f"},
      {"IPv6, an IPv4 pool", space("fc00:0:0:1::/64", {"172.18.5.1"}), "none"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(text_of(highest_free(c.in)) == c.want);
    }
  }
}

TEST_CASE("pools are for new addresses: one that is held outside of them is kept") {
  const auto net = space("172.18.0.0/16", {"172.18.5.1-172.18.5.9"});
  CHECK(text_of(choose_address(net, {ip("172.18.200.1")})) == "172.18.200.1");
  CHECK(text_of(choose_address(net, {ip("10.0.0.1")})) == "172.18.5.9");
}

TEST_CASE("why an address cannot be had, and that both questions have one answer") {
  struct Case {
    const char* name;
    const char* address;
    const char* why;  ///< part of it; empty: it can
  };
  const Case cases[] = {
      {"free", "172.18.0.9", ""},
      {"outside", "172.19.0.9", "outside the docker network 172.18.0.0/24"},
      {"another family", "fc00::9", "outside the docker network 172.18.0.0/24"},
      {"the first", "172.18.0.0", "first or last"},
      {"the last", "172.18.0.255", "first or last"},
      {"held", "172.18.0.1", "already in use"},
  };
  // Written with host bits: people know the network by its first address.
  const auto net = space("172.18.0.7/24", {}, {"172.18.0.1"});
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto why = why_not_usable(ip(c.address), net);
      CHECK(why.empty() == std::string(c.why).empty());
      CHECK(why.find(c.why) != std::string::npos);
      CHECK(is_usable(ip(c.address), net) == why.empty());
    }
  }
}

TEST_CASE("where addresses come from, for people") {
  CHECK(where_from(space("172.18.0.1/16", {})) == "172.18.0.0/16");
  CHECK(where_from(space("172.18.0.0/16", {"172.18.5.1-172.18.5.9", "172.18.9.1"})) ==
        "172.18.5.1-172.18.5.9, 172.18.9.1 (--ip-range) of 172.18.0.0/16");
}

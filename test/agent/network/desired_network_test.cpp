#include "network/desired_network.hpp"

#include "agent/fakes.hpp"
#include "support/builders.hpp"
#include "wanted_units.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using test::cidr;
using test::ip;

namespace {

protocol::Unit routed(const std::string& address, const std::string& gateway) {
  auto out = testing::unit_at("u" + address, address);
  out.routes = {{cidr("10.244.1.2/32"), ip(gateway)}};
  return out;
}

CommittedUnit committed_by(std::uint64_t request, const protocol::Unit& unit) {
  return {.unit = unit, .committed_by = request};
}

}  // namespace

TEST_CASE("addresses and routes of all units are wanted together") {
  const auto one = committed_by(1, routed("172.18.0.8", "172.18.0.2"));
  auto shared = routed("172.18.0.8", "172.18.0.2");
  shared.routes.push_back({cidr("10.244.2.3/24"), ip("172.18.0.3")});
  const auto two = committed_by(2, shared);
  const auto desired = desired_network({{&one, &two}, {}});
  CHECK(desired.addresses == std::set{cidr("172.18.0.8/16")});
  CHECK(desired.routes ==
        std::map<core::Cidr, core::IpAddress>{{cidr("10.244.1.2/32"), ip("172.18.0.2")},
                                              {cidr("10.244.2.0/24"), ip("172.18.0.3")}});
}

TEST_CASE("where units disagree about a gateway, the newer one is right") {
  const auto older = committed_by(3, routed("172.18.0.8", "172.18.0.2"));
  const auto newer = committed_by(9, routed("172.18.0.9", "172.18.0.3"));
  Request request;
  request.unit = routed("172.18.0.10", "172.18.0.4");
  struct Case {
    const char* name;
    WantedUnits wanted;
    const char* gateway;
  };
  const Case cases[] = {
      {"by age", {{&older, &newer}, {}}, "172.18.0.3"},
      {"by age, not by name", {{&newer, &older}, {}}, "172.18.0.3"},
      {"a request is newest", {{&newer, &older}, {&request}}, "172.18.0.4"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(desired_network(c.wanted).routes.at(cidr("10.244.1.2/32")) == ip(c.gateway));
  }
}

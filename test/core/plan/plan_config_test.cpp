// Which clients may connect, where to, and how: the parts of a proxy's configuration that come from
// a Service's request.
#include "core/plan/plan_support.hpp"

#include <algorithm>

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

/// What would be asked of a proxy for this Service.
ProxyConfig config_of(const Service& service, Policy policy = {}) {
  Life life(service);
  life.has_ipv6();
  life.policy = std::move(policy);
  life.step();
  life.proxy_claimed();
  const auto plan = life.step();
  REQUIRE(plan.apply.has_value());
  CHECK(plan.revision == revision_of(*plan.apply));
  return *plan.apply;
}

Policy node_ports() {
  return {.datapath = Datapath::NodePort};
}

Service local_service(std::uint16_t health_port) {
  auto out = web().with_port(53, Protocol::Udp).local().build();
  out.spec.health_check_node_port = health_port;
  return out;
}

}  // namespace

TEST_CASE("PROXY protocol is for the TCP ports, and changes what clients' backends see") {
  const auto plain = config_of(web().with_port(53, Protocol::Udp));
  for (const auto& [value, want] :
       {std::pair{"v1", ProxyProtocol::V1}, std::pair{"v2", ProxyProtocol::V2}}) {
    CAPTURE(value);
    const auto config =
        config_of(web().with_port(53, Protocol::Udp).annotated("kindlb.dev/proxy-protocol", value));
    REQUIRE(config.backends.size() == 2);
    CHECK(config.backends[0].proxy_protocol == want);
    CHECK(config.backends[1].proxy_protocol == ProxyProtocol::None);
    CHECK(revision_of(config).shape != revision_of(plain).shape);
    CHECK(revision_of(config).flow == revision_of(plain).flow);
  }
  CHECK(config_of(web().annotated("kindlb.dev/proxy-protocol", "none")) == config_of(web()));
}

TEST_CASE("nodes are asked for their health only with Local through node ports") {
  const auto health_ports = [](const ProxyConfig& config) {
    std::vector<std::uint16_t> out;
    for (const auto& backend : config.backends) out.push_back(backend.health_port);
    return out;
  };
  using Ports = std::vector<std::uint16_t>;
  CHECK(health_ports(config_of(local_service(32000), node_ports())) == Ports{32000, 32000});
  CHECK(health_ports(config_of(local_service(0), node_ports())) == Ports{0, 0});
  CHECK(health_ports(config_of(local_service(32000))) == Ports{0, 0});
  auto cluster = local_service(32000);
  cluster.spec.external_traffic_policy = TrafficPolicy::Cluster;
  CHECK(health_ports(config_of(cluster, node_ports())) == Ports{0, 0});
}

TEST_CASE("another health-check port is sent to the proxy without a status write") {
  const auto before = revision_of(config_of(local_service(32000), node_ports()));
  const auto after = revision_of(config_of(local_service(32001), node_ports()));
  CHECK(before.shape == after.shape);
  CHECK(before.flow != after.flow);
}

TEST_CASE("who may connect, for each family") {
  struct Case {
    const char* name;
    std::vector<std::string> ranges;
    bool restricted;
    std::vector<Cidr> v4;
    std::vector<Cidr> v6;
  };
  const Case cases[] = {
      {"everybody", {}, false, {}, {}},
      {"IPv4 only", {"10.0.0.0/8"}, true, {cidr("10.0.0.0/8")}, {}},
      {"IPv6 only", {"fc00::/7"}, true, {}, {cidr("fc00::/7")}},
      {"both, sorted",
       {"192.168.0.0/16", "fc00::/7", "10.1.2.3/8"},
       true,
       {cidr("10.0.0.0/8"), cidr("192.168.0.0/16")},
       {cidr("fc00::/7")}},
      {"none: what cannot be parsed admits no client", {"office"}, true, {}, {}},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      auto asks = web().with_families({IpFamily::V4, IpFamily::V6});
      for (const auto& each : c.ranges) asks.with_source_range(each);
      const auto config = config_of(asks);
      REQUIRE(config.listeners.size() == 2);
      for (const auto& listener : config.listeners) {
        CHECK(listener.restricted == c.restricted);
        CHECK(listener.allowed == (listener.address.family() == IpFamily::V4 ? c.v4 : c.v6));
      }
    }
  }
}

TEST_CASE("the order of ranges does not matter, their content does") {
  const auto a = web().with_source_range("10.0.0.0/8").with_source_range("192.168.0.0/16");
  const auto b = web().with_source_range("192.168.0.0/16").with_source_range(" 10.0.0.1/8");
  CHECK(config_of(a) == config_of(b));
  CHECK(revision_of(config_of(a)).shape !=
        revision_of(config_of(web().with_source_range("10.0.0.0/8"))).shape);
}

TEST_CASE("ranges that cannot be enforced are not half enforced") {
  Policy policy;
  policy.capabilities.source_ranges = false;
  const auto config = config_of(web().with_source_range("10.0.0.0/8"), policy);
  CHECK_FALSE(config.listeners[0].restricted);
}

TEST_CASE("affinity reaches every port of every family") {
  const auto config = config_of(web()
                                    .with_port(53, Protocol::Udp)
                                    .with_families({IpFamily::V4, IpFamily::V6})
                                    .with_affinity());
  CHECK(config.backends.size() == 4);
  CHECK(std::all_of(config.backends.begin(), config.backends.end(),
                    [](const Backend& b) { return b.affinity == Affinity::ClientIp; }));
}

TEST_CASE("every listener has a backend of its own, by name") {
  const auto config =
      config_of(web().with_port(80, Protocol::Udp).with_families({IpFamily::V4, IpFamily::V6}));
  std::set<std::string> names;
  for (const auto& backend : config.backends) names.insert(backend.name);
  CHECK(names.size() == 4);
  for (const auto& listener : config.listeners) CHECK(names.contains(listener.backend));
}

TEST_CASE("closed ports have no listener") {
  const auto config = config_of(web().with_port(9, Protocol::Sctp));
  REQUIRE(config.listeners.size() == 1);
  CHECK(config.listeners[0].port == 80);
}

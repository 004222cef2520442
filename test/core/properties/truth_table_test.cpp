// Everything a Service can ask for x what the provider can do x what is required: cases drawn so
// that every pair of values meets, each lived through plan_service and compared with a reading of
// the contract that knows nothing of core.
#include "core/plan/plan_support.hpp"
#include "core/properties/simulation.hpp"

#include <algorithm>
#include <array>
#include <set>

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

constexpr std::array<const char*, 6> kKnownFeatures = {"IPFamilies",
                                                       "Ports",
                                                       "SessionAffinity",
                                                       "LoadBalancerIP",
                                                       "ExternalTrafficPolicy",
                                                       "LoadBalancerSourceRanges"};

/// The dimensions, and how many values each has.
enum Dimension : std::size_t {
  Class,
  Families,
  Ports,
  NodePorts,
  Sticky,
  Ranges,
  Address,
  Traffic,
  Can,
  Required,
  Strict,
  kDimensions
};
constexpr std::array<std::uint32_t, kDimensions> kValues = {3, 4, 6, 2, 2, 4, 5, 2, 7, 9, 2};
using Draw = std::array<std::uint32_t, kDimensions>;

constexpr std::uint32_t kUnknownRequired = 8;
constexpr const char* kTaken = "172.18.0.2";

Service asked_by(const Draw& draw) {
  auto out = a_service();
  if (draw[Class] == 1) out.of_class("kindlb.dev/envoy");
  if (draw[Class] == 2) out.of_class("example.com/other");
  const std::vector<IpFamily> families[] = {
      {IpFamily::V4}, {IpFamily::V6}, {IpFamily::V4, IpFamily::V6}, {IpFamily::V6, IpFamily::V4}};
  out.with_families(families[draw[Families]]);
  switch (draw[Ports]) {
    case 0:
      out.with_port(80);
      break;
    case 1:
      out.with_port(80).with_port(53, Protocol::Udp);
      break;
    case 2:
      out.with_port(53).with_port(53, Protocol::Udp);
      break;
    case 3:
      out.with_port(9, Protocol::Sctp);
      break;
    case 4:
      out.with_port(9, Protocol::Sctp).with_port(80);
      break;
    default:
      out.with_port(53, Protocol::Udp);
      break;
  }
  if (draw[NodePorts] == 1) out.without_node_ports();
  if (draw[Sticky] == 1) out.with_affinity();
  if (draw[Ranges] > 0)
    out.with_source_range(std::array{"10.0.0.0/8", "fc00::/7", "office"}.at(draw[Ranges] - 1));
  if (draw[Address] > 0)
    out.with_ip(std::array{"172.18.7.7", kTaken, "10.0.0.1", "fc00:1::7"}.at(draw[Address] - 1));
  if (draw[Traffic] == 1) out.local();
  const auto required = draw[Required];
  if (required >= 1 && required <= 6) out.requiring(kKnownFeatures.at(required - 1));
  if (required == 7)
    for (const auto* feature : kKnownFeatures) out.requiring(feature);
  if (required == kUnknownRequired) out.requiring("Teleport");
  return out;
}

Capabilities provider(std::uint32_t which) {
  Capabilities can;
  switch (which) {
    case 1:
      return modest();
    case 2:
      can.families = {IpFamily::V4};
      break;
    case 3:
      can.direct_path = false;
      break;
    case 4:
      can.mixed_protocols = MixedProtocols::None;
      break;
    case 5:
      can.mixed_protocols = MixedProtocols::DistinctPorts;
      can.dual_stack = false;
      break;
    case 6:
      can.protocols = {Protocol::Tcp, Protocol::Udp, Protocol::Sctp};
      can.preserves_source_ip = true;
      break;
    default:
      break;
  }
  return can;
}

/// docs/contract.md §3, read once more.
struct Expected {
  bool fatal = false;             ///< refused whatever is required
  std::set<std::string> missing;  ///< features that cannot be had
};

std::size_t usable_ports(const Service& service, const Capabilities& can) {
  std::vector<ServicePort> open;
  for (const auto& port : service.spec.ports) {
    if (!can.protocols.contains(port.protocol)) continue;
    const bool clash = std::any_of(open.begin(), open.end(), [&](const ServicePort& other) {
      return other.protocol != port.protocol &&
             (can.mixed_protocols == MixedProtocols::None ||
              (can.mixed_protocols == MixedProtocols::DistinctPorts && other.port == port.port));
    });
    if (!clash) open.push_back(port);
  }
  return open.size();
}

Expected expected_of(const Service& service, const Capabilities& can) {
  Expected out;
  const auto& spec = service.spec;
  std::vector<IpFamily> families;
  for (const auto family : spec.ip_families)
    if (can.families.contains(family) && (can.dual_stack || families.empty()))
      families.push_back(family);
  if (families.size() < spec.ip_families.size()) out.missing.insert("IPFamilies");
  const auto open = usable_ports(service, can);
  if (open < spec.ports.size()) out.missing.insert("Ports");
  out.fatal = families.empty() || open == 0 || (!spec.allocate_node_ports && !can.direct_path);
  if (spec.affinity == Affinity::ClientIp && !can.session_affinity)
    out.missing.insert("SessionAffinity");
  if (!spec.source_ranges.empty() && !can.source_ranges)
    out.missing.insert("LoadBalancerSourceRanges");
  if (spec.external_traffic_policy == TrafficPolicy::Local && !can.preserves_source_ip)
    out.missing.insert("ExternalTrafficPolicy");
  const auto& requested = spec.load_balancer_ip;
  const auto served_on = [&](IpFamily family) {
    return std::find(families.begin(), families.end(), family) != families.end();
  };
  const bool to_be_had = (requested == "172.18.7.7" && served_on(IpFamily::V4)) ||
                         (requested == "fc00:1::7" && served_on(IpFamily::V6));
  if (!requested.empty() && !(can.load_balancer_ip && to_be_had))
    out.missing.insert("LoadBalancerIP");
  return out;
}

bool is_refused(const Draw& draw, const Expected& expected) {
  if (expected.fatal || draw[Required] == kUnknownRequired) return true;
  return std::any_of(expected.missing.begin(), expected.missing.end(), [&](const auto& feature) {
    const bool required = draw[Required] == 7 || (draw[Required] >= 1 && draw[Required] <= 6 &&
                                                  feature == kKnownFeatures.at(draw[Required] - 1));
    return required || (draw[Strict] == 1 && feature != "ExternalTrafficPolicy");
  });
}

void check_refused(Life& life, const Draw& draw) {
  for (int i = 0; i < 3; ++i) {
    const auto plan = life.step();
    REQUIRE(plan.addresses.empty());
    REQUIRE(plan.prepare.empty());
    REQUIRE_FALSE(plan.claim);
    REQUIRE_FALSE(plan.apply.has_value());
    REQUIRE(plan.empty() == (i > 0));
  }
  REQUIRE(life.serving() == "False/Unsupported");
  REQUIRE(life.provisioning() == "False/Complete");
  REQUIRE(life.degraded() == "absent");
  REQUIRE(life.service.status.ingress.empty());
  if (draw[Required] == kUnknownRequired) REQUIRE(mentions(life.message(), "\"Teleport\""));
}

void check_served(Life& life, const Expected& expected) {
  life.settle();
  REQUIRE(life.serving() == "True/Serving");
  REQUIRE(life.provisioning() == "False/Complete");
  const auto& missing = expected.missing;
  REQUIRE(life.degraded() == (missing.empty()      ? "absent"
                              : missing.size() > 1 ? "True/Multiple"
                                                   : "True/" + *missing.begin() + "NotSupported"));
  for (const auto& entry : life.service.status.ingress)
    for (const auto& port : entry.ports)
      REQUIRE((port.error.empty() || port.error == "kindlb.dev/PortsNotSupported"));
  REQUIRE(life.proxy.present);
  REQUIRE_FALSE(life.service.status.ingress.empty());
}

void check_case(const Draw& draw) {
  const auto service = asked_by(draw);
  Life life(service);
  life.has_ipv6();
  life.policy.capabilities = provider(draw[Can]);
  life.policy.strict = draw[Strict] == 1;
  if (draw[Class] == 2) {
    const auto plan = life.plan();
    REQUIRE(plan.empty());
    REQUIRE(plan.events.empty());
    REQUIRE(plan.addresses.empty());
    return;
  }
  const auto expected = expected_of(service, life.policy.capabilities);
  if (is_refused(draw, expected))
    check_refused(life, draw);
  else
    check_served(life, expected);
}

/// Pairs of values of two dimensions that never met.
std::size_t pairs_missed(const std::vector<Draw>& draws) {
  std::size_t missed = 0;
  for (std::size_t a = 0; a < kDimensions; ++a)
    for (std::size_t b = a + 1; b < kDimensions; ++b) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> met;
      for (const auto& draw : draws) met.emplace(draw[a], draw[b]);
      missed += kValues[a] * kValues[b] - met.size();
    }
  return missed;
}

}  // namespace

TEST_CASE("the truth table, through whole lives") {
  Dice dice(4631);
  std::vector<Draw> draws(2000);
  for (auto& draw : draws)
    for (std::size_t i = 0; i < kDimensions; ++i) draw[i] = dice.below(kValues[i]);
  CHECK(pairs_missed(draws) == 0);
  for (const auto& draw : draws) {
    CAPTURE(std::vector<std::uint32_t>(draw.begin(), draw.end()));
    check_case(draw);
  }
}

TEST_CASE("the truth table, in full where it is small: what is required x what is missing") {
  for (std::uint32_t can = 0; can < kValues[Can]; ++can)
    for (std::uint32_t required = 0; required < kValues[Required]; ++required)
      for (std::uint32_t strict = 0; strict < 2; ++strict) {
        // Asks for everything at once.
        const Draw draw = {0, 2, 1, 0, 1, 1, 2, 1, can, required, strict};
        CAPTURE(std::vector<std::uint32_t>(draw.begin(), draw.end()));
        check_case(draw);
      }
}

// What the Services of the simulation ask for, and what its kindlb supports: all of the contract,
// from few values, so that they collide.
#include "core/properties/simulation.hpp"

#include <array>

namespace kindlb::test {

using namespace core;

namespace {

constexpr std::array kFeatures = {"IPFamilies",
                                  "Ports",
                                  "SessionAffinity",
                                  "LoadBalancerIP",
                                  "ExternalTrafficPolicy",
                                  "LoadBalancerSourceRanges",
                                  "Teleport"};
constexpr std::array kWantedAddresses = {"",           "",         "172.18.0.9", "172.18.0.10",
                                         "172.18.0.1", "10.0.0.1", "fc00:1::9"};
constexpr std::array kRanges = {"10.0.0.0/8", "192.168.0.0/16", "fc00::/7", "office"};

template <typename Items>
auto one_of(Dice& dice, const Items& items) {
  return items.at(dice.below(static_cast<std::uint32_t>(items.size())));
}

/// Sets the annotation to one of the values, or takes it away.
template <std::size_t N>
void annotate(Dice& dice, Service& service, const char* name,
              const std::array<const char*, N>& values) {
  if (dice.one_in(2))
    service.annotations[name] = one_of(dice, values);
  else
    service.annotations.erase(name);
}

}  // namespace

void Simulation::choose_policy() {
  auto& can = policy_.capabilities;
  switch (dice_.below(6)) {
    case 0:
      can = modest();
      break;
    case 1:
      can.direct_path = false;
      break;
    case 2:
      can.mixed_protocols = MixedProtocols::None;
      break;
    case 3:
      can.several_ports = can.dual_stack = false;
      break;
    default:
      break;
  }
  policy_.strict = dice_.one_in(5);
  policy_.conditions = !dice_.one_in(6);
  drops_ = {.ports = dice_.one_in(4),
            .ip_mode = dice_.one_in(4),
            .conditions = dice_.one_in(4),
            .degraded = dice_.one_in(4)};
  policy_.datapath = dice_.one_in(3) ? Datapath::NodePort : Datapath::Auto;
  if (dice_.one_in(3)) network_[IpFamily::V4].pools = {range("172.18.0.9"), range("172.18.0.5")};
  if (!dice_.one_in(2)) return;
  network_[IpFamily::V6] = {.subnet = cidr("fc00:1::/64"), .taken = {}, .pools = {}};
  nodes_["a"].internal_ips.push_back(ip("fc00:1::2"));
  nodes_["b"].internal_ips.push_back(ip("fc00:1::3"));
}

void Simulation::create(Subject& subject) {
  const auto name = "s" + std::to_string(births_++);
  subject = {};
  auto service = a_service().named("default/" + name).with_port(80).build();
  if (dice_.one_in(2)) edit_ports(service);
  for (auto edits = dice_.below(3); edits > 0; --edits) edit_request(service);
  if (dice_.one_in(3)) edit_annotation(service);
  subject.slices = {a_slice().of(service).called(name + "-1"),
                    a_slice()
                        .of(service)
                        .called(name + "-2")
                        .for_family(dice_.one_in(2) ? IpFamily::V6 : IpFamily::V4)};
  subject.object = std::move(service);
  update_slices(subject);
  move_endpoints(subject);
}

void Simulation::edit_ports(Service& service) {
  auto with = a_service();
  switch (dice_.below(8)) {
    case 0:
      with.with_port(80).with_port(8443);
      break;
    case 1:
      with.with_port(9, Protocol::Sctp);
      break;
    case 2:
      with.with_port(53, Protocol::Udp);
      break;
    case 3:
      with.with_port(53, Protocol::Udp).with_port(53).with_port(9, Protocol::Sctp);
      break;
    default:
      with.with_port(80);
      break;
  }
  service.spec.ports = with.build().spec.ports;
  if (dice_.one_in(3)) service.spec.ports[0].name = "renamed";
  if (dice_.one_in(3)) service.spec.ports[0].target_port = "9090";
  service.spec.allocate_node_ports = true;
}

void Simulation::edit_request(Service& service) {
  auto& spec = service.spec;
  const std::vector<IpFamily> families[] = {{IpFamily::V4},
                                            {IpFamily::V4},
                                            {IpFamily::V6},
                                            {IpFamily::V4, IpFamily::V6},
                                            {IpFamily::V6, IpFamily::V4}};
  switch (dice_.below(8)) {
    case 0:
      spec.affinity = dice_.one_in(2) ? Affinity::ClientIp : Affinity::None;
      return;
    case 1:
      spec.required_features.clear();
      if (dice_.one_in(2)) spec.required_features.emplace_back(one_of(dice_, kFeatures));
      return;
    case 2:
      spec.source_ranges.clear();
      for (auto count = dice_.below(3); count > 0; --count)
        spec.source_ranges.emplace_back(one_of(dice_, kRanges));
      return;
    case 3:
    case 4:
      spec.load_balancer_ip = one_of(dice_, kWantedAddresses);
      return;
    case 5:
      spec.ip_families = families[dice_.below(5)];
      return;
    case 6:
      spec.external_traffic_policy =
          dice_.one_in(2) ? TrafficPolicy::Local : TrafficPolicy::Cluster;
      spec.health_check_node_port = static_cast<std::uint16_t>(
          spec.external_traffic_policy == TrafficPolicy::Local ? 32000 + dice_.below(2) : 0);
      return;
    default:
      spec.allocate_node_ports = !spec.allocate_node_ports;
      for (auto& port : spec.ports)
        port.node_port =
            static_cast<std::uint16_t>(spec.allocate_node_ports ? 30000 + dice_.below(2000) : 0);
  }
}

void Simulation::edit_annotation(Service& service) {
  switch (dice_.below(7)) {
    case 0:
      return annotate(dice_, service, "kindlb.dev/fault-provisioning-delay",
                      std::array{"5s", "20s", "soon"});
    case 1:
      return annotate(dice_, service, "kindlb.dev/fault-infrastructure",
                      std::array{"quota exceeded", "zone is down"});
    case 2:
      return annotate(dice_, service, "kindlb.dev/fault-unsupported",
                      std::array{"Ports", "IPFamilies,LoadBalancerIP", "SessionAffinity", "x"});
    case 3:
      return annotate(dice_, service, "kindlb.dev/fault-interrupt-on-update",
                      std::array{"true", "false"});
    case 4:
      return annotate(dice_, service, "kindlb.dev/datapath",
                      std::array{"auto", "direct", "nodeport"});
    case 5:
      return annotate(dice_, service, "kindlb.dev/proxy-protocol", std::array{"v1", "v2"});
    default:
      return annotate(dice_, service, "kindlb.dev/load-balancer-ips",
                      std::array{"172.18.0.9", "fc00:1::9,172.18.0.5"});
  }
}

}  // namespace kindlb::test

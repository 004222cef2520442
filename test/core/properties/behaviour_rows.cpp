#include "core/properties/behaviour_rows.hpp"

#include <chrono>

namespace kindlb::test {

using namespace core;

namespace {

void step(Life& life) {
  life.step();
}

void settle(Life& life) {
  life.settle();
}

/// A proxy that did all this before: only the Service is new to us.
void adopt(Life& life) {
  const auto born = life.service;
  life.settle();
  life.service = born;
  life.writes.clear();
  life.step();
}

void fail_first_work(Life& life) {
  life.step();
  life.proxy_claimed();
  life.proxy_rejects(life.step(), "cannot bind");
  life.step();
}

void reject_update(Life& life) {
  life.settle();
  life.add_port(443);
  life.step();
  life.proxy_rejects(life.step(), "cannot bind");
  life.step();
}

void begin_update(Life& life) {
  life.settle();
  life.add_port(443);
  life.step();
}

void finish_update(Life& life) {
  begin_update(life);
  life.settle();
}

void become_refused(Life& life) {
  life.settle();
  life.service.spec.required_features = {"Teleport"};
  life.settle();
}

void exclude_every_node(Life& life) {
  life.policy.datapath = Datapath::NodePort;
  for (auto& [name, node] : life.nodes) node.excluded = true;
  life.settle();
}

void lose_everybody(Life& life) {
  life.slices[0].endpoints.clear();
  life.settle();
}

void lose_proxy(Life& life) {
  life.settle();
  life.proxy_is_lost();
  life.step();
}

void heal(Life& life) {
  lose_proxy(life);
  life.settle();
}

constexpr const char* kComplete = "False/Complete";
constexpr const char* kBusy = "True/Provisioning";
constexpr const char* kServes = "True/Serving";
constexpr const char* kFails = "False/Infrastructure";
constexpr const char* kRefused = "False/Unsupported";

/// One row of §3 as lives: with the capability missing, with it required as well, and with it.
struct FeatureCase {
  const char* name;
  ServiceBuilder asks;
  const char* feature;
  const char* reason;
  std::function<void(Capabilities&)> lose;
};

std::vector<FeatureCase> feature_cases() {
  return {
      {"two families, one unsupported", web().with_families({IpFamily::V4, IpFamily::V6}),
       "IPFamilies", "IPFamiliesNotSupported",
       [](Capabilities& can) { can.families = {IpFamily::V4}; }},
      {"some unsupported ports/protocols", web().with_port(53, Protocol::Udp), "Ports",
       "PortsNotSupported", [](Capabilities& can) { can.protocols = {Protocol::Tcp}; }},
      {"sessionAffinity: ClientIP", web().with_affinity(), "SessionAffinity",
       "SessionAffinityNotSupported", [](Capabilities& can) { can.session_affinity = false; }},
      {"loadBalancerSourceRanges", web().with_source_range("10.0.0.0/8"),
       "LoadBalancerSourceRanges", "LoadBalancerSourceRangesNotSupported",
       [](Capabilities& can) { can.source_ranges = false; }},
      {"loadBalancerIP not obtainable", web().with_ip("172.18.7.7"), "LoadBalancerIP",
       "LoadBalancerIPNotSupported", [](Capabilities& can) { can.load_balancer_ip = false; }},
      {"externalTrafficPolicy: Local", web().local(), "ExternalTrafficPolicy",
       "ExternalTrafficPolicyNotSupported",
       [](Capabilities& can) { can.preserves_source_ip = false; }},
  };
}

void add_rows(std::vector<BehaviourRow>& rows, const FeatureCase& one) {
  const std::string name = one.name;
  const auto able = [](Life& life) {
    life.has_ipv6();
    life.policy.capabilities.preserves_source_ip = true;
  };
  const auto unable = [able, lose = one.lose](Life& life) {
    able(life);
    lose(life.policy.capabilities);
    life.settle();
  };
  auto required = one.asks;
  required.requiring(one.feature);
  rows.push_back({name + ", missing", one.asks, unable, kComplete, kServes,
                  "True/" + std::string(one.reason), true});
  rows.push_back({name + ", missing and required", required, unable, kComplete, kRefused});
  rows.push_back({name + ", supported and required", required,
                  [able](Life& life) {
                    able(life);
                    life.settle();
                  },
                  kComplete, kServes, "absent", true});
}

}  // namespace

std::vector<BehaviourRow> condition_rows() {
  const auto interrupting = web().annotated("kindlb.dev/fault-interrupt-on-update", "true");
  return {
      {"seen, will be refused", web().requiring("Teleport"), step, kComplete, kRefused},
      {"seen, work begins", web(), step, kBusy, "False/Provisioning"},
      {"seen, ready at once", web(), adopt, kComplete, kServes, "absent", true},
      {"work finished", web(), settle, kComplete, kServes, "absent", true},
      {"work failed, a retry is scheduled", web(), fail_first_work, kBusy, kFails},
      {"work failed, given up until something changes",
       web().annotated("kindlb.dev/fault-infrastructure", "no more"), settle, kComplete, kFails},
      {"update rejected by the proxy while the old configuration still serves", web(),
       reject_update, kBusy, kServes, "absent", true},
      {"was serving, an update makes it refused", web(), become_refused, kComplete, kRefused},
      {"node-port path and no eligible node at all", web(), exclude_every_node, kComplete, kFails},
      {"no ready endpoint behind the Service", web(), lose_everybody, kComplete, kServes, "absent",
       true},
      {"update that keeps serving the old semantics", web(), begin_update, kBusy, kServes, "absent",
       true},
      {"update that keeps serving the old semantics, finished", web(), finish_update, kComplete,
       kServes, "absent", true},
      {"update that must interrupt", interrupting, begin_update, kBusy, "False/Provisioning",
       "absent", true},
      {"update that must interrupt, finished", interrupting, finish_update, kComplete, kServes,
       "absent", true},
      {"proxy died, being healed", web(), lose_proxy, kBusy, kFails, "absent", true},
      {"proxy died, healed", web(), heal, kComplete, kServes, "absent", true},
  };
}

std::vector<BehaviourRow> verdict_rows() {
  const auto only_node_ports = [](Life& life) {
    life.policy.capabilities.direct_path = false;
    life.settle();
  };
  std::vector<BehaviourRow> rows = {
      {"only unsupported IP families", web().with_families({IpFamily::V6}), settle, kComplete,
       kRefused},
      {"only unsupported IP families, required",
       web().with_families({IpFamily::V6}).requiring("IPFamilies"), settle, kComplete, kRefused},
      {"only unsupported protocols", a_service().with_port(9, Protocol::Sctp), settle, kComplete,
       kRefused},
      {"only unsupported protocols, required",
       a_service().with_port(9, Protocol::Sctp).requiring("Ports"), settle, kComplete, kRefused},
      {"allocateLoadBalancerNodePorts: false and no direct data path", web().without_node_ports(),
       only_node_ports, kComplete, kRefused},
      {"allocateLoadBalancerNodePorts: false with a direct data path", web().without_node_ports(),
       settle, kComplete, kServes, "absent", true},
      {"more than one of the above", web().local().with_port(9, Protocol::Sctp), settle, kComplete,
       kServes, "True/Multiple", true},
      {"more than one of the above, required",
       web()
           .local()
           .with_port(9, Protocol::Sctp)
           .requiring("Ports")
           .requiring("ExternalTrafficPolicy"),
       settle, kComplete, kRefused},
      {"a required feature we have never heard of", web().requiring("TrafficDistribution"), settle,
       kComplete, kRefused},
  };
  for (const auto& one : feature_cases()) add_rows(rows, one);
  return rows;
}

std::vector<BehaviourRow> fault_rows() {
  const auto wait_it_out = [](Life& life) {
    life.step();
    life.now += std::chrono::seconds(20);
    life.settle();
  };
  const auto delayed = web().annotated("kindlb.dev/fault-provisioning-delay", "20s");
  return {
      {"fault-provisioning-delay, before", delayed, settle, kBusy, "False/Provisioning"},
      {"fault-provisioning-delay, after", delayed, wait_it_out, kComplete, kServes, "absent", true},
      {"fault-infrastructure", web().annotated("kindlb.dev/fault-infrastructure", "quota exceeded"),
       settle, kComplete, kFails},
      {"fault-unsupported",
       web().with_affinity().annotated("kindlb.dev/fault-unsupported", "SessionAffinity"), settle,
       kComplete, kServes, "True/SessionAffinityNotSupported", true},
      {"a malformed value", web().annotated("kindlb.dev/fault-provisioning-delay", "soon"), settle,
       kComplete, kServes, "absent", true},
  };
}

std::vector<BehaviourRow> behaviour_rows() {
  auto rows = condition_rows();
  for (auto& row : verdict_rows()) rows.push_back(std::move(row));
  for (auto& row : fault_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace kindlb::test

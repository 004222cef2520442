#include "kindlb/kube/manifest.hpp"

#include <algorithm>
#include <set>

namespace kindlb::kube {

namespace {

using core::FamilyPolicy;
using core::IpFamily;
using core::Service;
using core::ServiceType;

constexpr std::uint16_t kFirstNodePort = 30000;
constexpr std::uint16_t kLastNodePort = 32767;

bool is_single(const Service& service) {
  return service.spec.family_policy == FamilyPolicy::SingleStack;
}

IpFamily other_of(IpFamily family) {
  return family == IpFamily::V4 ? IpFamily::V6 : IpFamily::V4;
}

/// RequireDualStack gets both families whatever the cluster has, so that the verdict can say what
/// is missing; an API server would not admit such a Service.
void fill_families(Service& service, const std::vector<IpFamily>& families) {
  auto& own = service.spec.ip_families;
  if (own.empty()) own.push_back(families.empty() ? IpFamily::V4 : families.front());
  if (is_single(service) || own.size() > 1) return;
  const auto second = other_of(own.front());
  const bool has = std::ranges::find(families, second) != families.end();
  if (has || service.spec.family_policy == FamilyPolicy::RequireDualStack) own.push_back(second);
}

void fill_target_ports(Service& service) {
  for (auto& port : service.spec.ports)
    if (port.target_port.empty() || port.target_port == "0")
      port.target_port = std::to_string(port.port);
}

bool gets_node_ports(const Service& service) {
  return service.spec.type == ServiceType::NodePort ||
         (service.spec.type == ServiceType::LoadBalancer && service.spec.allocate_node_ports);
}

/// Allocates node ports in ascending order, each once whatever its protocol. Ports that any Service
/// of the input asks for are taken from the start, so that the order of Services does not matter.
class NodePorts {
 public:
  explicit NodePorts(const std::vector<Service>& services) {
    for (const auto& service : services) {
      taken_.insert(service.spec.health_check_node_port);
      for (const auto& port : service.spec.ports) taken_.insert(port.node_port);
    }
  }

  /// 0: none is left.
  std::uint16_t next() {
    while (next_ <= kLastNodePort && taken_.contains(next_)) ++next_;
    return next_ <= kLastNodePort ? next_++ : std::uint16_t{0};
  }

 private:
  std::set<std::uint16_t> taken_;
  std::uint16_t next_ = kFirstNodePort;
};

bool gets_health_check_node_port(const Service& service) {
  return service.spec.type == ServiceType::LoadBalancer &&
         service.spec.external_traffic_policy == core::TrafficPolicy::Local &&
         service.spec.allocate_health_check_node_port;
}

void fill_node_ports(Service& service, NodePorts& free) {
  if (gets_node_ports(service))
    for (auto& port : service.spec.ports)
      if (port.node_port == 0) port.node_port = free.next();
  if (gets_health_check_node_port(service) && service.spec.health_check_node_port == 0)
    service.spec.health_check_node_port = free.next();
}

}  // namespace

void fill_defaults(std::vector<Service>& services, const std::vector<IpFamily>& families) {
  NodePorts free(services);
  for (auto& service : services) {
    fill_families(service, families);
    fill_target_ports(service);
    fill_node_ports(service, free);
  }
}

}  // namespace kindlb::kube

#pragma once
// Services, EndpointSlices and Nodes of one cluster, reduced to the fields a load balancer needs,
// and what is written back. Passive values, filled by kube/codec; nothing here decides.

#include "kindlb/core/ip.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

using Timestamp = std::chrono::sys_seconds;

enum class Protocol { Tcp, Udp, Sctp };
const char* name_of(Protocol protocol);  ///< "TCP" | "UDP" | "SCTP"
std::optional<Protocol> parse_protocol(const std::string& text);
/// Name a port in messages and resource names: "TCP/80".
std::string port_label(Protocol protocol, std::uint16_t port);

struct ServiceKey {
  std::string cluster;
  std::string ns;
  std::string name;

  std::string text() const { return cluster + "/" + ns + "/" + name; }
  auto operator<=>(const ServiceKey&) const = default;
};

enum class ServiceType { ClusterIp, NodePort, LoadBalancer, ExternalName };
enum class Affinity { None, ClientIp };
enum class TrafficPolicy { Cluster, Local };
enum class FamilyPolicy { SingleStack, PreferDualStack, RequireDualStack };

struct ServicePort {
  std::string name;
  Protocol protocol = Protocol::Tcp;
  std::uint16_t port = 0;
  std::string target_port;      ///< a number or a name; EndpointSlices have the resolved number
  std::uint16_t node_port = 0;  ///< 0: none allocated
  std::string app_protocol;     ///< empty: not set; a hint that no decision depends on

  auto operator<=>(const ServicePort&) const = default;
};

struct ServiceSpec {
  ServiceType type = ServiceType::ClusterIp;
  std::optional<std::string> load_balancer_class;
  std::vector<ServicePort> ports;
  std::vector<IpFamily> ip_families;
  FamilyPolicy family_policy = FamilyPolicy::SingleStack;
  Affinity affinity = Affinity::None;
  int affinity_seconds = 0;                ///< timeoutSeconds; 0: not set
  std::vector<std::string> source_ranges;  ///< as written; not validated
  std::string load_balancer_ip;
  TrafficPolicy external_traffic_policy = TrafficPolicy::Cluster;
  bool allocate_node_ports = true;
  bool allocate_cluster_ip = true;              ///< KEP-3622
  bool allocate_health_check_node_port = true;  ///< KEP-4144
  std::uint16_t health_check_node_port = 0;     ///< 0: none allocated
  std::string traffic_distribution;             ///< empty: not set; no decision depends on it
  std::vector<std::string> required_features;
  bool has_selector = false;

  bool operator==(const ServiceSpec&) const = default;
};

struct PortStatus {
  std::uint16_t port = 0;
  Protocol protocol = Protocol::Tcp;
  std::string error;  ///< empty: the port is open

  bool operator==(const PortStatus&) const = default;
};

struct Ingress {
  std::string ip;
  std::string hostname;
  std::string ip_mode;
  std::vector<PortStatus> ports;

  bool operator==(const Ingress&) const = default;
};

enum class ConditionStatus { True, False, Unknown };
const char* name_of(ConditionStatus status);  ///< "True" | "False" | "Unknown"

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::Unknown;
  std::string reason;
  std::string message;
  Timestamp last_transition{};

  bool operator==(const Condition&) const = default;
};

struct ServiceStatus {
  std::vector<Ingress> ingress;
  std::vector<Condition> conditions;

  bool operator==(const ServiceStatus&) const = default;
};

struct Service {
  ServiceKey key;
  std::string uid;
  std::string resource_version;
  bool deleting = false;  ///< metadata.deletionTimestamp is set
  std::vector<std::string> finalizers;
  std::map<std::string, std::string> annotations;
  ServiceSpec spec;
  ServiceStatus status;

  bool operator==(const Service&) const = default;
};

/// One address of one EndpointSlice.
struct Endpoint {
  IpAddress address;
  bool ready = true;  ///< absent counts as ready (API: discovery.k8s.io/v1)
  bool serving = true;
  bool terminating = false;
  std::string node;    ///< empty: unknown
  std::string target;  ///< "Pod/default/web-1", for messages; may be empty

  bool operator==(const Endpoint&) const = default;
};

struct EndpointPort {
  std::string name;
  Protocol protocol = Protocol::Tcp;
  std::uint16_t port = 0;

  bool operator==(const EndpointPort&) const = default;
};

/// An EndpointSlice of address type IPv4 or IPv6 (FQDN slices are not decoded).
struct EndpointSlice {
  ServiceKey service;  ///< from the label kubernetes.io/service-name
  std::string name;    ///< of the slice, unique in its namespace
  IpFamily family = IpFamily::V4;
  /// Kept by the EndpointSlice controller, so its ports follow the Service's. False: made by hand,
  /// or by another controller.
  bool by_controller = true;
  std::vector<EndpointPort> ports;
  std::vector<Endpoint> endpoints;

  bool operator==(const EndpointSlice&) const = default;
};

struct Node {
  std::string name;
  std::string uid;
  bool ready = false;
  bool deleting = false;
  bool excluded = false;  ///< node.kubernetes.io/exclude-from-external-load-balancers
  bool halted = false;    ///< its container is stopped or paused; the API may lag behind
  std::vector<IpAddress> internal_ips;
  std::vector<Cidr> pod_cidrs;

  bool operator==(const Node&) const = default;
};

/// All fields kindlb owns on a Service, written in one server-side apply to /status
/// (docs/contract.md §1). Each apply repeats all of them: with server-side apply, leaving a field
/// out gives it up.
struct StatusApply {
  ServiceKey key;
  std::string uid;  ///< precondition: a recreated Service of the same name is not written to
  bool finalizer = true;
  std::string observed;  ///< value of kindlb.dev/observed
  std::vector<Ingress> ingress;
  std::vector<Condition> conditions;

  bool operator==(const StatusApply&) const = default;
};

enum class EventType { Normal, Warning };

/// A Kubernetes Event about a Service.
struct EventNote {
  EventType type = EventType::Normal;
  std::string reason;
  std::string message;

  bool operator==(const EventNote&) const = default;
};

inline constexpr const char* kFinalizer = "service.kubernetes.io/load-balancer-cleanup";
inline constexpr const char* kObservedAnnotation = "kindlb.dev/observed";
inline constexpr const char* kFieldManager = "kindlb";
inline constexpr const char* kServingCondition = "LoadBalancerServing";
inline constexpr const char* kProvisioningCondition = "LoadBalancerProvisioning";
inline constexpr const char* kDegradedCondition = "LoadBalancerDegraded";

}  // namespace kindlb::core

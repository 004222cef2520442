#include "codec.hpp"

#include "kindlb/json/json.hpp"
#include "status.hpp"
#include "time.hpp"

#include <utility>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

constexpr const char* kServiceLabel = "kubernetes.io/service-name";
constexpr const char* kManagedByLabel = "endpointslice.kubernetes.io/managed-by";
constexpr const char* kSliceController = "endpointslice-controller.k8s.io";
constexpr const char* kExcludeLabel = "node.kubernetes.io/exclude-from-external-load-balancers";
/// kubectl's copy of the whole object in one string. No decision depends on it, and keeping it
/// would double the memory of every Service.
constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

constexpr std::initializer_list<std::pair<const char*, core::Protocol>> kProtocols = {
    {"TCP", core::Protocol::Tcp}, {"UDP", core::Protocol::Udp}, {"SCTP", core::Protocol::Sctp}};

Error unreadable(const std::string& kind, const std::string& name, const Problem& problem) {
  return {ErrorKind::Protocol, "read " + kind + (name.empty() ? "" : " " + name),
          problem.text.value_or("not JSON")};
}

core::ServicePort read_service_port(const Reader& port) {
  return {.name = port.text("name"),
          .protocol = port.choice("protocol", kProtocols, core::Protocol::Tcp),
          .port = port.port("port").value_or(0),
          .target_port = port.number_or_text("targetPort"),
          .node_port = port.port("nodePort").value_or(0),
          .app_protocol = port.text("appProtocol")};
}

std::vector<core::IpFamily> read_families(const Reader& spec) {
  std::vector<core::IpFamily> families;
  for (const auto& family : spec.texts("ipFamilies")) {
    if (family == name_of(core::IpFamily::V4))
      families.push_back(core::IpFamily::V4);
    else if (family == name_of(core::IpFamily::V6))
      families.push_back(core::IpFamily::V6);
    else
      spec.report("ipFamilies", "'" + family + "' is not known: use IPv4 or IPv6");
  }
  return families;
}

void read_policies(const Reader& spec, core::ServiceSpec& out) {
  using core::Affinity;
  using core::FamilyPolicy;
  using core::ServiceType;
  using core::TrafficPolicy;
  out.type = spec.choice<ServiceType>("type",
                                      {{"ClusterIP", ServiceType::ClusterIp},
                                       {"NodePort", ServiceType::NodePort},
                                       {"LoadBalancer", ServiceType::LoadBalancer},
                                       {"ExternalName", ServiceType::ExternalName}},
                                      ServiceType::ClusterIp);
  out.family_policy =
      spec.choice<FamilyPolicy>("ipFamilyPolicy",
                                {{"SingleStack", FamilyPolicy::SingleStack},
                                 {"PreferDualStack", FamilyPolicy::PreferDualStack},
                                 {"RequireDualStack", FamilyPolicy::RequireDualStack}},
                                FamilyPolicy::SingleStack);
  out.affinity = spec.choice<Affinity>("sessionAffinity",
                                       {{"None", Affinity::None}, {"ClientIP", Affinity::ClientIp}},
                                       Affinity::None);
  out.affinity_seconds = static_cast<int>(
      spec.object("sessionAffinityConfig").object("clientIP").number("timeoutSeconds"));
  out.external_traffic_policy = spec.choice<TrafficPolicy>(
      "externalTrafficPolicy",
      {{"Cluster", TrafficPolicy::Cluster}, {"Local", TrafficPolicy::Local}},
      TrafficPolicy::Cluster);
}

core::ServiceSpec read_spec(const Reader& spec) {
  core::ServiceSpec out;
  read_policies(spec, out);
  if (spec.has("loadBalancerClass")) out.load_balancer_class = spec.text("loadBalancerClass");
  spec.each("ports", [&](const Reader& port) { out.ports.push_back(read_service_port(port)); });
  out.ip_families = read_families(spec);
  out.source_ranges = spec.texts("loadBalancerSourceRanges");
  out.load_balancer_ip = spec.text("loadBalancerIP");
  out.allocate_node_ports = spec.flag("allocateLoadBalancerNodePorts", true);
  out.allocate_cluster_ip = spec.flag("allocateLoadBalancerClusterIP", true);
  out.allocate_health_check_node_port = spec.flag("allocateLoadBalancerHCNodePort", true);
  out.health_check_node_port = spec.port("healthCheckNodePort").value_or(0);
  out.required_features = spec.texts("requiredLoadBalancerFeatures");
  out.traffic_distribution = spec.text("trafficDistribution");
  out.has_selector = !spec.text_map("selector").empty();
  return out;
}

core::Ingress read_ingress(const Reader& ingress) {
  core::Ingress out{.ip = ingress.text("ip"),
                    .hostname = ingress.text("hostname"),
                    .ip_mode = ingress.text("ipMode"),
                    .ports = {}};
  ingress.each("ports", [&](const Reader& port) {
    out.ports.push_back({.port = port.port("port").value_or(0),
                         .protocol = port.choice("protocol", kProtocols, core::Protocol::Tcp),
                         .error = port.text("error")});
  });
  return out;
}

core::Timestamp read_time(const Reader& from, const char* key) {
  const auto text = from.text(key);
  if (text.empty()) return {};
  const auto time = parse_time(text);
  if (!time) from.report(key, "'" + text + "' is not a time");
  return time.value_or(core::Timestamp{});
}

core::Condition read_condition(const Reader& condition) {
  using core::ConditionStatus;
  return {.type = condition.text("type"),
          .status = condition.choice<ConditionStatus>("status",
                                                      {{"True", ConditionStatus::True},
                                                       {"False", ConditionStatus::False},
                                                       {"Unknown", ConditionStatus::Unknown}},
                                                      ConditionStatus::Unknown),
          .reason = condition.text("reason"),
          .message = condition.text("message"),
          .last_transition = read_time(condition, "lastTransitionTime")};
}

core::ServiceStatus read_status(const Reader& status) {
  core::ServiceStatus out;
  status.object("loadBalancer").each("ingress", [&](const Reader& ingress) {
    out.ingress.push_back(read_ingress(ingress));
  });
  status.each("conditions", [&](const Reader& condition) {
    out.conditions.push_back(read_condition(condition));
  });
  return out;
}

core::Service read_service(const Reader& object, const std::string& cluster) {
  const auto meta = object.object("metadata");
  core::Service out{
      .key = {cluster, meta.required("namespace"), meta.required("name")},
      .uid = meta.required("uid"),
      .resource_version = meta.text("resourceVersion"),
      .deleting = meta.has("deletionTimestamp"),
      .finalizers = meta.texts("finalizers"),
      .annotations = meta.text_map("annotations"),
      .spec = read_spec(object.object("spec")),
      .status = read_status(object.object("status")),
  };
  out.annotations.erase(kLastApplied);
  return out;
}

std::string read_target(const Reader& endpoint) {
  if (!endpoint.has("targetRef")) return {};
  const auto ref = endpoint.object("targetRef");
  return ref.text("kind") + "/" + ref.text("namespace") + "/" + ref.text("name");
}

/// Read one endpoint. Its addresses are interchangeable, and discovery.k8s.io/v1 has consumers use
/// the first. An endpoint without an address of the slice's family (old objects may hold
/// "010.1.1.1") is left out. A missing condition counts as ready and not terminating; an absent
/// `serving` follows `ready`.
std::optional<core::Endpoint> read_endpoint(const Reader& endpoint, core::IpFamily family) {
  const auto addresses = endpoint.texts("addresses");
  const auto address = addresses.empty() ? std::nullopt : core::IpAddress::parse(addresses.front());
  if (!address || address->family() != family) return std::nullopt;
  const auto conditions = endpoint.object("conditions");
  const bool ready = conditions.flag("ready", true);
  return core::Endpoint{.address = *address,
                        .ready = ready,
                        .serving = conditions.flag("serving", ready),
                        .terminating = conditions.flag("terminating", false),
                        .node = endpoint.text("nodeName"),
                        .target = read_target(endpoint)};
}

/// Read one port. A port without a number means "all ports", which no Service can select.
std::optional<core::EndpointPort> read_endpoint_port(const Reader& port) {
  const auto number = port.port("port");
  if (!number) return std::nullopt;
  return core::EndpointPort{.name = port.text("name"),
                            .protocol = port.choice("protocol", kProtocols, core::Protocol::Tcp),
                            .port = *number};
}

std::optional<core::IpFamily> read_address_type(const Reader& slice) {
  const auto type = slice.text("addressType");
  if (type == name_of(core::IpFamily::V4)) return core::IpFamily::V4;
  if (type == name_of(core::IpFamily::V6)) return core::IpFamily::V6;
  return std::nullopt;
}

std::optional<core::EndpointSlice> read_slice(const Reader& object, const std::string& cluster) {
  const auto meta = object.object("metadata");
  const auto service = meta.object("labels").text(kServiceLabel);
  const auto family = read_address_type(object);
  if (service.empty() || !family) return std::nullopt;
  core::EndpointSlice out{.service = {cluster, meta.required("namespace"), service},
                          .name = meta.required("name"),
                          .family = *family,
                          .by_controller =
                              meta.object("labels").text(kManagedByLabel) == kSliceController,
                          .ports = {},
                          .endpoints = {}};
  object.each("ports", [&](const Reader& port) {
    if (auto read = read_endpoint_port(port)) out.ports.push_back(std::move(*read));
  });
  object.each("endpoints", [&](const Reader& endpoint) {
    if (auto read = read_endpoint(endpoint, *family)) out.endpoints.push_back(std::move(*read));
  });
  return out;
}

std::vector<core::IpAddress> read_internal_ips(const Reader& status) {
  std::vector<core::IpAddress> ips;
  status.each("addresses", [&](const Reader& entry) {
    if (entry.text("type") != "InternalIP") return;
    if (const auto ip = core::IpAddress::parse(entry.text("address"))) ips.push_back(*ip);
  });
  return ips;
}

bool read_ready(const Reader& status) {
  bool ready = false;
  status.each("conditions", [&](const Reader& condition) {
    if (condition.text("type") == "Ready") ready = condition.text("status") == "True";
  });
  return ready;
}

std::vector<core::Cidr> read_pod_cidrs(const Reader& spec) {
  std::vector<core::Cidr> cidrs;
  for (const auto& text : spec.texts("podCIDRs"))
    if (const auto cidr = core::Cidr::parse(text)) cidrs.push_back(*cidr);
  return cidrs;
}

core::Node read_node(const Reader& object) {
  const auto meta = object.object("metadata");
  const auto status = object.object("status");
  return {.name = meta.required("name"),
          .uid = meta.text("uid"),
          .ready = read_ready(status),
          .deleting = meta.has("deletionTimestamp"),
          .excluded = meta.object("labels").has(kExcludeLabel),
          .internal_ips = read_internal_ips(status),
          .pod_cidrs = read_pod_cidrs(object.object("spec"))};
}
}  // namespace

Result<ObjectName> decode_name(const Json& object) {
  Problem problem;
  const Reader reader(object, problem);
  const auto meta = reader.object("metadata");
  ObjectName name{meta.text("namespace"), meta.required("name")};
  if (problem.text) return unreadable("object", name.name, problem);
  return name;
}

core::Service read_service(const Json& object, const std::string& cluster, Problem& problem) {
  return read_service(Reader(object, problem), cluster);
}

std::optional<core::EndpointSlice> read_slice(const Json& object, const std::string& cluster,
                                              Problem& problem) {
  return read_slice(Reader(object, problem), cluster);
}

core::Node read_node(const Json& object, Problem& problem) {
  return read_node(Reader(object, problem));
}

Result<core::Service> decode_service(const Json& object, const std::string& cluster) {
  Problem problem;
  auto service = read_service(object, cluster, problem);
  if (problem.text) return unreadable("service", service.key.ns + "/" + service.key.name, problem);
  return service;
}

Result<std::optional<core::EndpointSlice>> decode_slice(const Json& object,
                                                        const std::string& cluster) {
  Problem problem;
  auto slice = read_slice(object, cluster, problem);
  if (problem.text) return unreadable("endpointslice", slice ? slice->name : "", problem);
  return slice;
}

Result<core::Node> decode_node(const Json& object) {
  Problem problem;
  auto node = read_node(object, problem);
  if (problem.text) return unreadable("node", node.name, problem);
  return node;
}

}  // namespace kindlb::kube

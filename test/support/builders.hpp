#pragma once
// Core values by their interesting parts: a_service().named("default/web").with_port(80). What a
// test does not mention has a harmless default. Everything here is a value; nothing is shared.

#include "kindlb/core/backends.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/core/service.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::test {

/// A provider that does nothing but TCP over IPv4.
inline core::Capabilities modest() {
  core::Capabilities out;
  out.protocols = {core::Protocol::Tcp};
  out.families = {core::IpFamily::V4};
  out.session_affinity = out.source_ranges = out.load_balancer_ip = out.preserves_source_ip = false;
  return out;
}

inline core::IpAddress ip(const std::string& text) {
  return core::IpAddress::parse(text).value();
}

inline core::Cidr cidr(const std::string& text) {
  return core::Cidr::parse(text).value();
}

inline core::AddressRange range(const std::string& text) {
  return core::AddressRange::parse(text).value();
}

inline std::string text_of(const std::optional<core::IpAddress>& address) {
  return address ? address->text() : "none";
}

inline constexpr std::pair<core::Protocol, std::uint16_t> kTcp80{core::Protocol::Tcp, 80};

inline core::Target target(const std::string& address, std::uint16_t port) {
  return {ip(address), port};
}

inline core::Timestamp at(long seconds) {
  return core::Timestamp(std::chrono::seconds(seconds));
}

inline std::pair<std::string, std::string> split_name(const std::string& text) {
  const auto slash = text.find('/');
  return {text.substr(0, slash), text.substr(slash + 1)};
}

class ServiceBuilder {
 public:
  ServiceBuilder() {
    service_.spec.type = core::ServiceType::LoadBalancer;
    service_.spec.ip_families = {core::IpFamily::V4};
    service_.spec.has_selector = true;
    named("default/web");
  }

  /// "namespace/name"; the uid follows the name.
  ServiceBuilder& named(const std::string& name) {
    const auto [ns, plain] = split_name(name);
    service_.key = {"kind", ns, plain};
    service_.uid = "uid-" + plain;
    return *this;
  }
  ServiceBuilder& of_type(core::ServiceType type) {
    service_.spec.type = type;
    return *this;
  }
  ServiceBuilder& of_class(const std::string& name) {
    service_.spec.load_balancer_class = name;
    return *this;
  }
  /// Named "p<port>", target port 8000 + port, node port 30000 + port.
  ServiceBuilder& with_port(std::uint16_t port, core::Protocol protocol = core::Protocol::Tcp) {
    service_.spec.ports.push_back({.name = "p" + std::to_string(port),
                                   .protocol = protocol,
                                   .port = port,
                                   .target_port = std::to_string(8000 + port),
                                   .node_port = static_cast<std::uint16_t>(30000 + port)});
    return *this;
  }
  ServiceBuilder& without_node_ports() {
    service_.spec.allocate_node_ports = false;
    for (auto& port : service_.spec.ports) port.node_port = 0;
    return *this;
  }
  ServiceBuilder& with_families(std::vector<core::IpFamily> families) {
    service_.spec.ip_families = std::move(families);
    return *this;
  }
  ServiceBuilder& with_affinity() {
    service_.spec.affinity = core::Affinity::ClientIp;
    return *this;
  }
  ServiceBuilder& with_source_range(const std::string& range) {
    service_.spec.source_ranges.push_back(range);
    return *this;
  }
  ServiceBuilder& with_ip(const std::string& address) {
    service_.spec.load_balancer_ip = address;
    return *this;
  }
  ServiceBuilder& local() {
    service_.spec.external_traffic_policy = core::TrafficPolicy::Local;
    return *this;
  }
  ServiceBuilder& without_selector() {
    service_.spec.has_selector = false;
    return *this;
  }
  ServiceBuilder& requiring(const std::string& feature) {
    service_.spec.required_features.push_back(feature);
    return *this;
  }
  ServiceBuilder& annotated(const std::string& name, const std::string& value) {
    service_.annotations[name] = value;
    return *this;
  }
  ServiceBuilder& with_finalizer(const std::string& name = core::kFinalizer) {
    service_.finalizers.push_back(name);
    return *this;
  }
  ServiceBuilder& deleting() {
    service_.deleting = true;
    return *this;
  }
  ServiceBuilder& reporting(const std::string& address) {
    service_.status.ingress.push_back({.ip = address, .ip_mode = "Proxy"});
    return *this;
  }
  ServiceBuilder& saying(core::Condition condition) {
    service_.status.conditions.push_back(std::move(condition));
    return *this;
  }

  core::Service build() const { return service_; }
  operator core::Service() const { return service_; }  // NOLINT(google-explicit-constructor)

 private:
  core::Service service_;
};

inline ServiceBuilder a_service() {
  return {};
}

/// The simplest one that is served.
inline ServiceBuilder web() {
  return a_service().with_port(80);
}

class SliceBuilder {
 public:
  SliceBuilder() {
    slice_.service = {"kind", "default", "web"};
    slice_.name = "web-1";
  }

  SliceBuilder& of(const core::Service& service) {
    slice_.service = service.key;
    slice_.ports.clear();
    for (const auto& port : service.spec.ports)
      with_port(port.name, static_cast<std::uint16_t>(8000 + port.port), port.protocol);
    return *this;
  }
  SliceBuilder& called(const std::string& name) {
    slice_.name = name;
    return *this;
  }
  SliceBuilder& for_family(core::IpFamily family) {
    slice_.family = family;
    return *this;
  }
  SliceBuilder& with_port(const std::string& name, std::uint16_t port,
                          core::Protocol protocol = core::Protocol::Tcp) {
    slice_.ports.push_back({name, protocol, port});
    return *this;
  }
  SliceBuilder& ready(const std::string& address, const std::string& node) {
    return with({.address = ip(address), .node = node});
  }
  SliceBuilder& not_ready(const std::string& address, const std::string& node) {
    return with({.address = ip(address), .ready = false, .serving = false, .node = node});
  }
  SliceBuilder& terminating(const std::string& address, const std::string& node,
                            bool still_serving = true) {
    return with({.address = ip(address),
                 .ready = false,
                 .serving = still_serving,
                 .terminating = true,
                 .node = node});
  }
  SliceBuilder& with(core::Endpoint endpoint) {
    slice_.endpoints.push_back(std::move(endpoint));
    return *this;
  }

  operator core::EndpointSlice() const { return slice_; }  // NOLINT(google-explicit-constructor)

 private:
  core::EndpointSlice slice_;
};

inline SliceBuilder a_slice() {
  return {};
}

inline core::Node a_node(const std::string& name, const std::string& address) {
  return {.name = name, .uid = "uid-" + name, .ready = true, .internal_ips = {ip(address)}};
}

/// What an API server does not keep of a write: a gate is off, or its version is older.
struct Drops {
  bool ports = false;
  bool ip_mode = false;
  bool conditions = false;
  bool degraded = false;  ///< that condition alone
};

inline core::StatusApply without(core::StatusApply write, const Drops& drops) {
  for (auto& entry : write.ingress) {
    if (drops.ports) entry.ports.clear();
    if (drops.ip_mode) entry.ip_mode.clear();
  }
  std::erase_if(write.conditions, [&](const core::Condition& condition) {
    return drops.conditions || (drops.degraded && condition.type == core::kDegradedCondition);
  });
  return write;
}

/// What the API server makes of a write.
inline core::Service accepted(core::Service service, const core::StatusApply& write) {
  auto& finalizers = service.finalizers;
  if (write.finalizer && !core::has_finalizer(service)) finalizers.emplace_back(core::kFinalizer);
  service.annotations[core::kObservedAnnotation] = write.observed;
  service.status.ingress = write.ingress;
  std::erase_if(service.status.conditions, [](const core::Condition& condition) {
    return condition.type == core::kServingCondition ||
           condition.type == core::kProvisioningCondition ||
           condition.type == core::kDegradedCondition;
  });
  service.status.conditions.insert(service.status.conditions.end(), write.conditions.begin(),
                                   write.conditions.end());
  return service;
}

/// One Service with everything a plan looks at, owned. The network is 172.18.0.0/16, where the
/// gateway and the nodes hold the lowest addresses.
struct World {
  core::Service service;
  std::vector<core::EndpointSlice> slices;
  core::Nodes nodes;
  std::map<core::IpFamily, core::AddressSpace> network = {
      {core::IpFamily::V4,
       {cidr("172.18.0.0/16"), {ip("172.18.0.1"), ip("172.18.0.2"), ip("172.18.0.3")}}}};
  std::vector<core::IpAddress> reserved;
  core::ProxyView proxy;
  core::LastReported last_reported;
  std::optional<core::Trouble> trouble;
  core::PathState path;
  std::optional<core::Report> report;
  std::chrono::milliseconds age{0};
  bool may_allocate = true;
  core::Timestamp now = at(1000);
  core::Policy policy;

  core::ServiceSnapshot view() const {
    core::ServiceSnapshot out;
    out.service = &service;
    for (const auto& slice : slices) out.slices.push_back(&slice);
    out.nodes = &nodes;
    out.network = network;
    out.proxy = proxy;
    out.memory = {reserved, last_reported, trouble, path, report};
    out.age = age;
    out.may_allocate = may_allocate;
    out.now = now;
    return out;
  }
  core::Plan plan() const { return core::plan_service(view(), policy); }
  core::Prediction predict() const { return core::predict(view(), policy); }
};

/// Two nodes, kind-control-plane (172.18.0.2) and kind-worker (172.18.0.3), and one ready pod on
/// each that answers on every port of the Service.
inline World a_world(const core::Service& service) {
  World world{.service = service};
  world.nodes["kind-control-plane"] = a_node("kind-control-plane", "172.18.0.2");
  world.nodes["kind-worker"] = a_node("kind-worker", "172.18.0.3");
  world.slices = {a_slice()
                      .of(service)
                      .ready("10.244.0.5", "kind-control-plane")
                      .ready("10.244.1.5", "kind-worker")};
  return world;
}

}  // namespace kindlb::test

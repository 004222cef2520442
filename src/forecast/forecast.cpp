#include "kindlb/forecast/forecast.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/yaml/node.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace kindlb::forecast {

namespace {

using core::Claim;
using core::Service;

std::string name_of(const core::ServiceKey& key) {
  return key.ns + "/" + key.name;
}

const char* name_of(core::ServiceType type) {
  switch (type) {
    case core::ServiceType::ClusterIp:
      return "ClusterIP";
    case core::ServiceType::NodePort:
      return "NodePort";
    case core::ServiceType::ExternalName:
      return "ExternalName";
    case core::ServiceType::LoadBalancer:
      break;
  }
  return "LoadBalancer";
}

ForecastNote class_note(const Service& service, const core::Policy& policy) {
  const auto name = service.spec.load_balancer_class.value_or("");
  if (name.empty())
    return {"NoClass",
            "spec.loadBalancerClass is not set, and with --require-class such "
            "Services are ignored."};
  return {"OtherClass", "spec.loadBalancerClass is " + name + ", and this kindlb serves " +
                            base::joined(policy.classes) + " (--load-balancer-class)."};
}

/// Reasons here are our own: an ignored Service gets no conditions.
ForecastNote why_ignored(const Service& service, Claim claim, const core::Policy& policy) {
  if (claim == Claim::ReleaseDeleted)
    return {"Deleted", "It is being deleted; its load balancer would be removed."};
  if (claim == Claim::ReleaseChanged)
    return {"NoLongerOurs", "It no longer asks for its load balancer, which would be removed."};
  if (service.deleting) return {"Deleted", "It is being deleted."};
  if (service.spec.type != core::ServiceType::LoadBalancer)
    return {"NotLoadBalancer",
            std::string("spec.type is ") + name_of(service.spec.type) + ", not LoadBalancer."};
  return class_note(service, policy);
}

Decision decision_of(const core::Prediction& prediction) {
  if (prediction.claim != Claim::Ours) return Decision::Ignore;
  switch (prediction.verdict.outcome) {
    case core::Outcome::Serve:
      return Decision::Serve;
    case core::Outcome::Degrade:
      return Decision::Degrade;
    case core::Outcome::Refuse:
      break;
  }
  return Decision::Refuse;
}

ServiceForecast forecast_of(const Service& service, core::Prediction prediction,
                            const core::Policy& policy) {
  ServiceForecast out{.service = name_of(service.key), .decision = decision_of(prediction)};
  out.prediction = std::move(prediction);
  const auto& seen = out.prediction;
  if (out.decision == Decision::Ignore)
    out.reasons.push_back(why_ignored(service, seen.claim, policy));
  for (const auto& reason : seen.verdict.reasons)
    out.reasons.push_back(
        {reason.reason.empty() ? reason.feature + "NotSupported" : reason.reason, reason.message});
  for (const auto& warning : seen.warnings)
    out.warnings.push_back({warning.reason, warning.message});
  for (const auto& note : seen.verdict.notes) out.warnings.push_back({"Note", note});
  return out;
}

/// The cluster as described by manifests and facts together. Where both have nodes, the manifests
/// win.
class PlannedCluster {
 public:
  PlannedCluster(kube::Manifests manifests, const ClusterFacts& facts, const core::Policy& policy)
      : manifests_(std::move(manifests)), facts_(facts), policy_(policy), network_(facts.network) {
    kube::fill_defaults(manifests_.services, facts.families);
    for (const auto& node : manifests_.nodes.empty() ? facts.nodes : manifests_.nodes)
      nodes_.emplace(node.name, node);
    for (const auto& node : manifests_.nodes)
      for (const auto& address : node.internal_ips) take(address);
    for (const auto& range : policy.ip_ranges)
      if (const auto space = network_.find(range.family()); space != network_.end())
        space->second.pools.push_back(range);
  }

  /// Expand short endpoints to EndpointSlices. Needs the Services' ports, hence after the defaults.
  core::Result<void> add_brief_endpoints() {
    std::map<std::string, const Service*> by_name;
    for (const auto& service : manifests_.services) by_name.emplace(name_of(service.key), &service);
    for (const auto& brief : facts_.endpoints) {
      const auto service = by_name.find(brief.service);
      if (!brief.node.empty() && !nodes_.contains(brief.node))
        return core::Error{
            core::ErrorKind::Invalid, brief.place,
            "unknown node '" + brief.node + "': use one from 'nodes' or from the Node manifests"};
      if (service == by_name.end()) continue;
      for (const auto family : {core::IpFamily::V4, core::IpFamily::V6})
        if (auto added = add_slice(brief, *service->second, family); !added.ok()) return added;
    }
    for (const auto& slice : manifests_.slices) by_service_[slice.service].push_back(&slice);
    return {};
  }

  /// Plan Services one after the other on one address space. Those with an address in status come
  /// first, so that no other Service is given it; among the rest, file order decides, as creation
  /// order would in a cluster.
  std::vector<ServiceForecast> forecast_services(core::Timestamp now) {
    const auto& services = manifests_.services;
    std::vector<std::size_t> order(services.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_partition(
        order, [&](std::size_t i) { return !services[i].status.ingress.empty(); });
    std::vector<ServiceForecast> out(services.size());
    core::ServiceSnapshot world;
    world.nodes = &nodes_;
    world.network = std::move(network_);
    world.now = now;
    for (const auto i : order) {
      world.service = &services[i];
      world.slices = by_service_[services[i].key];
      out[i] = forecast_of(services[i], core::predict(world, policy_), policy_);
      if (!out[i].prediction.config) continue;
      for (const auto& given : out[i].prediction.config->addresses)
        world.network.at(given.address.family()).taken.insert(given.address);
    }
    return out;
  }

 private:
  void take(const core::IpAddress& address) {
    if (const auto space = network_.find(address.family()); space != network_.end())
      space->second.taken.insert(address);
  }

  /// Add the EndpointSlice of one family, as the EndpointSlice controller would: ports resolved to
  /// numbers, and no slice without endpoints.
  core::Result<void> add_slice(const BriefEndpoints& brief, const Service& service,
                               core::IpFamily family) {
    core::EndpointSlice slice{.service = service.key,
                              .name = service.key.name + "-" + core::name_of(family),
                              .family = family,
                              .ports = {},
                              .endpoints = {}};
    for (const auto& address : brief.addresses)
      if (address.family() == family)
        slice.endpoints.push_back({.address = address,
                                   .ready = brief.ready,
                                   .serving = brief.ready,
                                   .node = node_of(brief)});
    if (slice.endpoints.empty()) return {};
    for (const auto& port : service.spec.ports) {
      const auto number = number_of(brief, port);
      if (!number)
        return core::Error{core::ErrorKind::Invalid, brief.place,
                           "the target port of " + brief.service + " is the name '" +
                               port.target_port + "': give its number as ports: {" +
                               (port.name.empty() ? "\"\"" : port.name) + ": ...}"};
      slice.ports.push_back({port.name, port.protocol, *number});
    }
    manifests_.slices.push_back(std::move(slice));
    return {};
  }

  /// Endpoints without a node run on the first one, so that the direct path can be forecast.
  std::string node_of(const BriefEndpoints& brief) const {
    if (!brief.node.empty() || nodes_.empty()) return brief.node;
    return facts_.nodes.empty() ? nodes_.begin()->first : facts_.nodes.front().name;
  }

  /// Return the endpoint's port number, or nothing when targetPort is a name that the facts do not
  /// resolve.
  static std::optional<std::uint16_t> number_of(const BriefEndpoints& brief,
                                                const core::ServicePort& port) {
    if (const auto given = brief.ports.find(port.name); given != brief.ports.end())
      return given->second;
    const auto value = yaml::resolve(
        {.kind = yaml::Kind::Scalar, .place = {}, .text = port.target_port, .plain = true});
    const auto* const number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < 1 || *number > 65535) return std::nullopt;
    return static_cast<std::uint16_t>(*number);
  }

  kube::Manifests manifests_;
  const ClusterFacts& facts_;
  const core::Policy& policy_;
  std::map<core::IpFamily, core::AddressSpace> network_;
  core::Nodes nodes_;
  std::map<core::ServiceKey, core::Slices> by_service_;
};

}  // namespace

const char* name_of(Decision decision) {
  switch (decision) {
    case Decision::Serve:
      return "serve";
    case Decision::Degrade:
      return "degrade";
    case Decision::Refuse:
      return "refuse";
    case Decision::Ignore:
      break;
  }
  return "ignore";
}

core::Result<std::vector<ServiceForecast>> forecast_services(kube::Manifests manifests,
                                                             const ClusterFacts& facts,
                                                             const core::Policy& policy,
                                                             core::Timestamp now) {
  PlannedCluster world(std::move(manifests), facts, policy);
  if (auto added = world.add_brief_endpoints(); !added.ok()) return added.error();
  return world.forecast_services(now);
}

}  // namespace kindlb::forecast

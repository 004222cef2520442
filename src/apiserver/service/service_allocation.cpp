#include "kindlb/core/ip.hpp"
#include "schema/resources.hpp"
#include "service/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace kindlb::apiserver {

namespace {
using AllocationFailure = std::optional<StatusError>;

StatusError refuse(const Json& service, const std::string& field, const Json& value,
                   const std::string& why) {
  FieldErrors errors;
  errors.invalid(field, value, why);
  return invalid(services(), text_at(service, {"metadata", "name"}), errors.take());
}

/// Allocates for one write of a Service. On update, values of `old` that remain are kept without
/// asking the allocator, which knows them already; those that disappear are released on commit.
class ServiceAllocator {
 public:
  ServiceAllocator(Json& service, const Json* old, AllocationTransaction& transaction)
      : service_(service), spec_(service["spec"]), old_(old), transaction_(transaction) {}

  /// Requested addresses first, then one for each family that has none. Headless Services (None)
  /// and ExternalName Services get none. Addresses of `old` that are no longer listed are released.
  AllocationFailure cluster_ips() {
    const auto before =
        old_ == nullptr ? std::vector<std::string>{} : texts_at(*old_, {"spec", "clusterIPs"});
    auto now = texts_at(spec_, {"clusterIPs"});
    if (needs_cluster_ip(service_) && !contains(now, "None")) {
      if (auto failure = allocate_requested(now, before)) return failure;
      // KEP-3622: the opt-out applies only as long as the Service has no cluster IP.
      if (allocates_cluster_ip(service_) || !now.empty())
        if (auto failure = allocate_missing(now)) return failure;
    }
    for (const auto& text : before) {
      const auto address = core::IpAddress::parse(text);
      if (address && !contains(now, text)) transaction_.release_ip(*address);
    }
    return std::nullopt;
  }

  /// On update, ports that `old` has keep their allocation; only new numbers are allocated.
  AllocationFailure service_node_ports() {
    const auto before = old_ == nullptr ? std::set<int>{} : node_ports(*old_);
    if (needs_node_ports(service_) && spec_.contains("ports")) {
      auto failure = old_ == nullptr ? allocate_new_node_ports() : update_node_ports(before);
      if (failure) return failure;
    }
    const auto now = needs_node_ports(service_) ? node_ports(service_) : std::set<int>{};
    for (const int port : before)
      if (now.count(port) == 0) transaction_.release_port(port);
    return std::nullopt;
  }

  /// A change from one port to another is not handled here: validation rejects it as immutable.
  AllocationFailure health_check_port() {
    const bool needed = old_ != nullptr && needs_health_check(*old_);
    const int before =
        needed ? static_cast<int>(number_at(*old_, {"spec", "healthCheckNodePort"})) : 0;
    if (!needs_health_check(service_)) {
      if (before != 0) transaction_.release_port(before);
      return std::nullopt;
    }
    const int now = static_cast<int>(number_at(spec_, {"healthCheckNodePort"}));
    if (now != 0 && now != before && before == 0) return allocate_health_check_port(now);
    if (now == 0 && before != 0) transaction_.release_port(before);
    if (now != 0 || !allocates_health_check_port(service_)) return std::nullopt;
    const auto port = transaction_.allocate_next_port();
    if (!port) return internal("failed to allocate a HealthCheck NodePort: range is full");
    spec_["healthCheckNodePort"] = *port;
    return std::nullopt;
  }

 private:
  AllocationFailure allocate_requested(const std::vector<std::string>& now,
                                       const std::vector<std::string>& before) {
    for (const auto& text : now) {
      const auto address = core::IpAddress::parse(text);
      if (!address || contains(before, text)) continue;
      const auto error = transaction_.allocate_ip(*address);
      if (!error.empty())
        return refuse(service_, "spec.clusterIPs", spec_["clusterIPs"],
                      fmt::format("failed to allocate IP {}: {}", text, error));
    }
    return std::nullopt;
  }

  AllocationFailure allocate_missing(std::vector<std::string>& now) {
    const auto families = texts_at(spec_, {"ipFamilies"});
    for (std::size_t i = now.size(); i < families.size(); ++i) {
      const auto address = transaction_.allocate_next_ip(family_named(families[i]));
      if (!address)
        return internal(
            fmt::format("failed to allocate a serviceIP for Service \"{}\": range is "
                        "full",
                        text_at(service_, {"metadata", "name"})));
      now.push_back(address->text());
    }
    if (now.empty()) return std::nullopt;
    spec_["clusterIPs"] = now;
    if (!spec_.contains("clusterIP")) spec_["clusterIP"] = now.front();
    return std::nullopt;
  }

  AllocationFailure allocate_node_port(std::size_t index, int port) {
    const auto error = transaction_.allocate_port(port);
    if (error.empty()) return std::nullopt;
    return refuse(service_, fmt::format("spec.ports[{}].nodePort", index), port, error);
  }

  AllocationFailure allocate_next_node_port(Json& port) {
    const auto number = transaction_.allocate_next_port();
    if (!number) return internal("failed to allocate a nodePort: range is full");
    port["nodePort"] = *number;
    return std::nullopt;
  }

  /// The node port requested by the first of the ports with this number: TCP and UDP share one.
  int requested_for(std::int64_t port) const {
    for (const auto& each : spec_["ports"])
      if (number_at(each, {"port"}) == port && number_at(each, {"nodePort"}) != 0)
        return static_cast<int>(number_at(each, {"nodePort"}));
    return 0;
  }

  /// On creation, ports of the same number with different protocols share a node port, as DNS over
  /// TCP and UDP does: the first allocates, the others reuse it. A second request for another node
  /// port of the same number is allocated separately.
  AllocationFailure allocate_new_node_ports() {
    std::map<std::int64_t, int> by_port;
    std::size_t index = 0;
    for (auto& port : spec_["ports"]) {
      const auto here = index++;
      const int asked = static_cast<int>(number_at(port, {"nodePort"}));
      if (asked == 0 && !allocates_node_ports(service_)) continue;
      auto& shared = by_port[number_at(port, {"port"})];
      AllocationFailure failure;
      if (shared == 0) {
        const int wanted = requested_for(number_at(port, {"port"}));
        failure = wanted != 0 ? allocate_node_port(here, wanted) : allocate_next_node_port(port);
        if (wanted != 0) port["nodePort"] = wanted;
        if (!failure) shared = port["nodePort"].get<int>();
      } else if (asked == 0) {
        port["nodePort"] = shared;
      } else if (asked != shared) {
        failure = allocate_node_port(here, asked);
      }
      if (failure) return failure;
    }
    return std::nullopt;
  }

  /// On update nothing is shared: kube-apiserver does not do it either.
  AllocationFailure update_node_ports(const std::set<int>& before) {
    std::set<int> taken;
    std::size_t index = 0;
    for (auto& port : spec_["ports"]) {
      const auto here = index++;
      const int asked = static_cast<int>(number_at(port, {"nodePort"}));
      if (asked == 0 && !allocates_node_ports(service_)) continue;
      AllocationFailure failure;
      if (asked == 0)
        failure = allocate_next_node_port(port);
      else if (before.count(asked) == 0 && taken.insert(asked).second)
        failure = allocate_node_port(here, asked);
      if (failure) return failure;
    }
    return std::nullopt;
  }

  AllocationFailure allocate_health_check_port(int port) {
    const auto error = transaction_.allocate_port(port);
    if (error.empty()) return std::nullopt;
    return internal(
        fmt::format("failed to allocate requested HealthCheck NodePort {}: {}", port, error));
  }

  Json& service_;
  Json& spec_;
  const Json* old_;
  AllocationTransaction& transaction_;
};
}  // namespace

std::optional<StatusError> allocate_service(Json& service, const Json* old,
                                            AllocationTransaction& transaction) {
  ServiceAllocator allocator(service, old, transaction);
  if (auto failure = allocator.cluster_ips()) return failure;
  if (auto failure = allocator.service_node_ports()) return failure;
  return allocator.health_check_port();
}

}  // namespace kindlb::apiserver

#include "kindlb/core/ip.hpp"
#include "schema/resources.hpp"
#include "service/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace kindlb::apiserver {

namespace {
using Failure = std::optional<Refusal>;

Refusal refuse(const Json& service, const std::string& field, const Json& value,
               const std::string& why) {
  FieldFaults faults;
  faults.invalid(field, value, why);
  return invalid(services(), text_at(service, {"metadata", "name"}), faults.take());
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class Allocation {
 public:
  Allocation(Json& service, const Json* old, Reservation& reservation)
      : service_(service), spec_(service["spec"]), old_(old), reservation_(reservation) {}

  Failure cluster_ips() {
    const auto before =
        old_ == nullptr ? std::vector<std::string>{} : texts_at(*old_, {"spec", "clusterIPs"});
    auto now = texts_at(spec_, {"clusterIPs"});
    if (needs_cluster_ip(service_) && !contains(now, "None")) {
      if (auto failure = take_requested(now, before)) return failure;
      // An opt-out (KEP-3622) holds only while there is none at all.
      if (allocates_cluster_ip(service_) || !now.empty())
        if (auto failure = take_missing(now)) return failure;
    }
    for (const auto& text : before) {
      const auto address = core::IpAddress::parse(text);
      if (address && !contains(now, text)) reservation_.release_ip(*address);
    }
    return std::nullopt;
  }

  Failure node_ports() {
    const auto before = old_ == nullptr ? std::set<int>{} : numbers(*old_);
    if (needs_node_ports(service_) && spec_.contains("ports")) {
      auto failure = old_ == nullptr ? take_new_node_ports() : update_node_ports(before);
      if (failure) return failure;
    }
    const auto now = needs_node_ports(service_) ? numbers(service_) : std::set<int>{};
    for (const int port : before)
      if (now.count(port) == 0) reservation_.release_port(port);
    return std::nullopt;
  }

  Failure health_check_port() {
    const bool needed = old_ != nullptr && needs_health_check(*old_);
    const int before =
        needed ? static_cast<int>(number_at(*old_, {"spec", "healthCheckNodePort"})) : 0;
    if (!needs_health_check(service_)) {
      if (before != 0) reservation_.release_port(before);
      return std::nullopt;
    }
    const int now = static_cast<int>(number_at(spec_, {"healthCheckNodePort"}));
    if (now != 0 && now != before && before == 0) return take_health_check(now);
    if (now == 0 && before != 0) reservation_.release_port(before);
    if (now != 0 || !allocates_health_check_port(service_)) return std::nullopt;
    const auto port = reservation_.take_any_port();
    if (!port) return internal("failed to allocate a HealthCheck NodePort: range is full");
    spec_["healthCheckNodePort"] = *port;
    return std::nullopt;
  }

 private:
  static std::set<int> numbers(const Json& service) {
    std::set<int> out;
    for (const auto& port : list_at(service, {"spec", "ports"}))
      if (const auto number = number_at(port, {"nodePort"}); number != 0)
        out.insert(static_cast<int>(number));
    return out;
  }

  Failure take_requested(const std::vector<std::string>& now,
                         const std::vector<std::string>& before) {
    for (const auto& text : now) {
      const auto address = core::IpAddress::parse(text);
      if (!address || contains(before, text)) continue;
      const auto complaint = reservation_.take_ip(*address);
      if (!complaint.empty())
        return refuse(service_, "spec.clusterIPs", spec_["clusterIPs"],
                      fmt::format("failed to allocate IP {}: {}", text, complaint));
    }
    return std::nullopt;
  }

  Failure take_missing(std::vector<std::string>& now) {
    const auto families = texts_at(spec_, {"ipFamilies"});
    for (std::size_t i = now.size(); i < families.size(); ++i) {
      const auto address =
          reservation_.take_any_ip(families[i] == "IPv6" ? core::IpFamily::V6 : core::IpFamily::V4);
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

  Failure take_node_port(std::size_t index, int port) {
    const auto complaint = reservation_.take_port(port);
    if (complaint.empty()) return std::nullopt;
    return refuse(service_, fmt::format("spec.ports[{}].nodePort", index), port, complaint);
  }

  Failure take_any_node_port(Json& port) {
    const auto number = reservation_.take_any_port();
    if (!number) return internal("failed to allocate a nodePort: range is full");
    port["nodePort"] = *number;
    return std::nullopt;
  }

  /// The first node port asked for by any of the ports with this number: TCP and UDP share one.
  int requested_for(std::int64_t port) const {
    for (const auto& each : spec_["ports"])
      if (number_at(each, {"port"}) == port && number_at(each, {"nodePort"}) != 0)
        return static_cast<int>(number_at(each, {"nodePort"}));
    return 0;
  }

  Failure take_new_node_ports() {
    std::map<std::int64_t, int> by_port;
    std::size_t index = 0;
    for (auto& port : spec_["ports"]) {
      const auto here = index++;
      const int asked = static_cast<int>(number_at(port, {"nodePort"}));
      if (asked == 0 && !allocates_node_ports(service_)) continue;
      auto& shared = by_port[number_at(port, {"port"})];
      Failure failure;
      if (shared == 0) {
        const int wanted = requested_for(number_at(port, {"port"}));
        failure = wanted != 0 ? take_node_port(here, wanted) : take_any_node_port(port);
        if (wanted != 0) port["nodePort"] = wanted;
        if (!failure) shared = port["nodePort"].get<int>();
      } else if (asked == 0) {
        port["nodePort"] = shared;
      } else if (asked != shared) {
        failure = take_node_port(here, asked);
      }
      if (failure) return failure;
    }
    return std::nullopt;
  }

  Failure update_node_ports(const std::set<int>& before) {
    std::set<int> taken;
    std::size_t index = 0;
    for (auto& port : spec_["ports"]) {
      const auto here = index++;
      const int asked = static_cast<int>(number_at(port, {"nodePort"}));
      if (asked == 0 && !allocates_node_ports(service_)) continue;
      Failure failure;
      if (asked == 0)
        failure = take_any_node_port(port);
      else if (before.count(asked) == 0 && taken.insert(asked).second)
        failure = take_node_port(here, asked);
      if (failure) return failure;
    }
    return std::nullopt;
  }

  Failure take_health_check(int port) {
    const auto complaint = reservation_.take_port(port);
    if (complaint.empty()) return std::nullopt;
    return internal(
        fmt::format("failed to allocate requested HealthCheck NodePort {}: {}", port, complaint));
  }

  Json& service_;
  Json& spec_;
  const Json* old_;
  Reservation& reservation_;
};
}  // namespace

std::optional<Refusal> allocate_service(Json& service, const Json* old, Reservation& reservation) {
  Allocation allocation(service, old, reservation);
  if (auto failure = allocation.cluster_ips()) return failure;
  if (auto failure = allocation.node_ports()) return failure;
  return allocation.health_check_port();
}

}  // namespace kindlb::apiserver

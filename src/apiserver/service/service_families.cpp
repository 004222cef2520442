#include "kindlb/core/ip.hpp"
#include "service/service.hpp"

#include <fmt/format.h>

namespace kindlb::apiserver {

namespace {
using core::IpFamily;

constexpr const char* kPolicy = "spec.ipFamilyPolicy";
constexpr const char* kSingle = "SingleStack";

bool keeps(const Json& a, const Json& b, const char* field) {
  return spec_field(a, field) == spec_field(b, field);
}

std::size_t count(const Json& service, const char* field) {
  return list_at(service, {"spec", field}).size();
}

const char* other(const std::string& family) {
  return family == "IPv4" ? "IPv6" : "IPv4";
}

IpFamily family_named(const std::string& name) {
  return name == "IPv6" ? IpFamily::V6 : IpFamily::V4;
}

bool is_selectorless_headless(const Json& service) {
  return text_at(service, {"spec", "clusterIP"}) == "None" &&
         map_at(service, {"spec", "selector"}).empty();
}

/// A Service that prefers two families keeps what it has when nobody touched these fields.
bool settled(const Json& service, const Json* old) {
  constexpr const char* kPrefer = "PreferDualStack";
  return old != nullptr && keeps(service, *old, "type") && needs_cluster_ip(service) &&
         text_at(service, {"spec", "ipFamilyPolicy"}) == kPrefer &&
         text_at(*old, {"spec", "ipFamilyPolicy"}) == kPrefer &&
         keeps(service, *old, "clusterIPs") && keeps(service, *old, "ipFamilies") &&
         count(service, "ipFamilies") > 0;
}

void default_policy(Json& service, const Json* old) {
  auto& spec = service["spec"];
  if (spec.contains("ipFamilyPolicy")) return;
  if (old != nullptr && find(*old, {"spec", "ipFamilyPolicy"}) != nullptr)
    spec["ipFamilyPolicy"] = spec_field(*old, "ipFamilyPolicy");
  else
    spec["ipFamilyPolicy"] = is_selectorless_headless(service) ? "RequireDualStack" : kSingle;
}

void shorten(Json& service, const Json& old, const char* field) {
  if (!keeps(service, old, field) || count(service, field) < 2) return;
  auto& list = service["spec"][field];
  list.erase(1);
}

bool reduced(const Json& service, const Json& old, const char* field) {
  return count(old, field) == 2 && count(service, field) == 1;
}

void check_reduction(Json& service, const Json& old, FieldFaults& faults) {
  const auto& policy = spec_field(service, "ipFamilyPolicy");
  if (policy == kSingle) {
    shorten(service, old, "clusterIPs");
    shorten(service, old, "ipFamilies");
    return;
  }
  if (reduced(service, old, "clusterIPs"))
    faults.invalid(kPolicy, policy, "must be 'SingleStack' to release the secondary cluster IP");
  if (reduced(service, old, "ipFamilies"))
    faults.invalid(kPolicy, policy, "must be 'SingleStack' to release the secondary IP family");
}

void check_single(const Json& service, FieldFaults& faults) {
  const auto& policy = spec_field(service, "ipFamilyPolicy");
  if (policy != kSingle) return;
  if (count(service, "clusterIPs") == 2)
    faults.invalid(kPolicy, policy,
                   "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are "
                   "specified");
  if (count(service, "ipFamilies") == 2)
    faults.invalid(kPolicy, policy,
                   "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
                   "specified");
}

void infer_families(Json& service, const Reservation& cluster, FieldFaults& faults) {
  const auto ips = texts_at(service, {"spec", "clusterIPs"});
  auto families = list_at(service, {"spec", "ipFamilies"});
  for (std::size_t i = 0; i < ips.size() && ips[i] != "None"; ++i) {
    const auto address = core::IpAddress::parse(ips[i]);
    if (!address || i < families.size()) continue;
    if (cluster.has(address->family()))
      families.push_back(core::name_of(address->family()));
    else
      faults.invalid(
          fmt::format("spec.clusterIPs[{}]", i), spec_field(service, "clusterIPs"),
          fmt::format("{} is not configured on this cluster", core::name_of(address->family())));
  }
  if (!families.empty()) service["spec"]["ipFamilies"] = families;
}

void check_cluster(const Json& service, const Reservation& cluster, FieldFaults& faults) {
  const auto& policy = spec_field(service, "ipFamilyPolicy");
  if (policy == "RequireDualStack" && cluster.families() < 2)
    faults.invalid(kPolicy, policy, "this cluster is not configured for dual-stack services");
  const auto families = texts_at(service, {"spec", "ipFamilies"});
  for (std::size_t i = 0; i < families.size(); ++i)
    if (!cluster.has(family_named(families[i])))
      faults.invalid(fmt::format("spec.ipFamilies[{}]", i), families[i],
                     "not configured on this cluster");
}

void fill(Json& service, const Reservation& cluster, bool any_cluster) {
  auto& spec = service["spec"];
  if (count(service, "ipFamilies") == 0)
    spec["ipFamilies"] = Json::array({core::name_of(cluster.default_family())});
  const bool two = any_cluster || cluster.families() == 2;
  if (two && spec["ipFamilyPolicy"] != kSingle && spec["ipFamilies"].size() == 1)
    spec["ipFamilies"].push_back(other(spec["ipFamilies"][0].get<std::string>()));
}
}  // namespace

FieldFaults fill_ip_families(Json& service, const Json* old, const Reservation& cluster) {
  FieldFaults faults;
  if (!needs_cluster_ip(service) || settled(service, old)) return faults;
  default_policy(service, old);
  // What is malformed would only confuse the rest.
  validate_cluster_ips(service, faults);
  if (!faults.empty()) return faults;
  if (old != nullptr) check_reduction(service, *old, faults);
  check_single(service, faults);
  infer_families(service, cluster, faults);
  if (!faults.empty()) return faults;
  // Who keeps the endpoints of such a Service decides on families, whatever the cluster has.
  const bool free_choice = is_selectorless_headless(service);
  if (!free_choice) check_cluster(service, cluster, faults);
  if (faults.empty()) fill(service, cluster, free_choice);
  return faults;
}

}  // namespace kindlb::apiserver

#include "kindlb/core/ip.hpp"
#include "service/service.hpp"

#include <fmt/format.h>

namespace kindlb::apiserver {

namespace {
constexpr const char* kPolicy = "spec.ipFamilyPolicy";
constexpr const char* kSingle = "SingleStack";

std::size_t count(const Json& service, const char* field) {
  return list_at(service, {"spec", field}).size();
}

const char* other(const std::string& family) {
  return family == "IPv4" ? "IPv6" : "IPv4";
}

/// Its endpoints are written by users or other controllers, with addresses of any family.
bool is_selectorless_headless(const Json& service) {
  return text_at(service, {"spec", "clusterIP"}) == "None" &&
         map_at(service, {"spec", "selector"}).empty();
}

/// PreferDualStack: an update that does not touch these fields changes nothing, even if the cluster
/// has become dual-stack meanwhile. An upgrade happens only on request.
bool keeps_families(const Json& service, const Json* old) {
  constexpr const char* kPrefer = "PreferDualStack";
  return old != nullptr && same_spec_field(service, *old, "type") && needs_cluster_ip(service) &&
         text_at(service, {"spec", "ipFamilyPolicy"}) == kPrefer &&
         text_at(*old, {"spec", "ipFamilyPolicy"}) == kPrefer &&
         same_spec_field(service, *old, "clusterIPs") &&
         same_spec_field(service, *old, "ipFamilies") && count(service, "ipFamilies") > 0;
}

/// An update without ipFamilyPolicy keeps the old one: older clients do not know the field.
void default_policy(Json& service, const Json* old) {
  auto& spec = service["spec"];
  if (spec.contains("ipFamilyPolicy")) return;
  if (old != nullptr && find(*old, {"spec", "ipFamilyPolicy"}) != nullptr)
    spec["ipFamilyPolicy"] = spec_field(*old, "ipFamilyPolicy");
  else
    spec["ipFamilyPolicy"] = is_selectorless_headless(service) ? "RequireDualStack" : kSingle;
}

/// A change to SingleStack releases the secondary value if the client left the list unchanged.
void drop_secondary(Json& service, const Json& old, const char* field) {
  if (!same_spec_field(service, old, field) || count(service, field) < 2) return;
  auto& list = service["spec"][field];
  list.erase(1);
}

bool releases_secondary(const Json& service, const Json& old, const char* field) {
  return count(old, field) == 2 && count(service, field) == 1;
}

/// Dropping the secondary family has to be explicit, by the policy SingleStack.
void check_reduction(Json& service, const Json& old, FieldErrors& errors) {
  const auto& policy = spec_field(service, "ipFamilyPolicy");
  if (policy == kSingle) {
    drop_secondary(service, old, "clusterIPs");
    drop_secondary(service, old, "ipFamilies");
    return;
  }
  if (releases_secondary(service, old, "clusterIPs"))
    errors.invalid(kPolicy, policy, "must be 'SingleStack' to release the secondary cluster IP");
  if (releases_secondary(service, old, "ipFamilies"))
    errors.invalid(kPolicy, policy, "must be 'SingleStack' to release the secondary IP family");
}

void check_single(const Json& service, FieldErrors& errors) {
  const auto& policy = spec_field(service, "ipFamilyPolicy");
  if (policy != kSingle) return;
  if (count(service, "clusterIPs") == 2)
    errors.invalid(kPolicy, policy,
                   "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are "
                   "specified");
  if (count(service, "ipFamilies") == 2)
    errors.invalid(kPolicy, policy,
                   "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
                   "specified");
}

/// Requested cluster IPs determine their families, in the same order.
void infer_families(Json& service, const AllocationTransaction& cluster, FieldErrors& errors) {
  const auto ips = texts_at(service, {"spec", "clusterIPs"});
  auto families = list_at(service, {"spec", "ipFamilies"});
  for (std::size_t i = 0; i < ips.size() && ips[i] != "None"; ++i) {
    const auto address = core::IpAddress::parse(ips[i]);
    if (!address || i < families.size()) continue;
    if (cluster.has(address->family()))
      families.push_back(core::name_of(address->family()));
    else
      errors.invalid(
          fmt::format("spec.clusterIPs[{}]", i), spec_field(service, "clusterIPs"),
          fmt::format("{} is not configured on this cluster", core::name_of(address->family())));
  }
  if (!families.empty()) service["spec"]["ipFamilies"] = families;
}

void check_cluster(const Json& service, const AllocationTransaction& cluster, FieldErrors& errors) {
  const auto& policy = spec_field(service, "ipFamilyPolicy");
  if (policy == "RequireDualStack" && cluster.families() < 2)
    errors.invalid(kPolicy, policy, "this cluster is not configured for dual-stack services");
  const auto families = texts_at(service, {"spec", "ipFamilies"});
  for (std::size_t i = 0; i < families.size(); ++i)
    if (!cluster.has(family_named(families[i])))
      errors.invalid(fmt::format("spec.ipFamilies[{}]", i), families[i],
                     "not configured on this cluster");
}

/// Add the default family, and the second one if the policy asks for it and the cluster has it.
void fill_families(Json& service, const AllocationTransaction& cluster, bool any_cluster) {
  auto& spec = service["spec"];
  if (count(service, "ipFamilies") == 0)
    spec["ipFamilies"] = Json::array({core::name_of(cluster.default_family())});
  const bool two = any_cluster || cluster.families() == 2;
  if (two && spec["ipFamilyPolicy"] != kSingle && spec["ipFamilies"].size() == 1)
    spec["ipFamilies"].push_back(other(spec["ipFamilies"][0].get<std::string>()));
}
}  // namespace

FieldErrors fill_ip_families(Json& service, const Json* old, const AllocationTransaction& cluster) {
  FieldErrors errors;
  if (!needs_cluster_ip(service) || keeps_families(service, old)) return errors;
  default_policy(service, old);
  // The steps below rely on well-formed values.
  validate_cluster_ips(service, errors);
  if (!errors.empty()) return errors;
  if (old != nullptr) check_reduction(service, *old, errors);
  check_single(service, errors);
  infer_families(service, cluster, errors);
  if (!errors.empty()) return errors;
  // Endpoints of a headless Service without a selector are the user's, of any family.
  const bool free_choice = is_selectorless_headless(service);
  if (!free_choice) check_cluster(service, cluster, errors);
  if (errors.empty()) fill_families(service, cluster, free_choice);
  return errors;
}

}  // namespace kindlb::apiserver

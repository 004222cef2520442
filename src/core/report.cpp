#include "kindlb/core/report.hpp"

#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::core {

namespace {

constexpr const char* kOurConditions[] = {kServingCondition, kProvisioningCondition,
                                          kDegradedCondition};

bool is_our_condition(const Condition& condition) {
  return std::any_of(std::begin(kOurConditions), std::end(kOurConditions),
                     [&](const char* type) { return condition.type == type; });
}

void replace_conditions(Service& service, const std::vector<Condition>& ours) {
  auto& conditions = service.status.conditions;
  std::erase_if(conditions, is_our_condition);
  conditions.insert(conditions.end(), ours.begin(), ours.end());
}

/// The conditions of a Service that is marked as ours and has an address, but none of them: it was
/// served. Should its proxy be gone or serve something else, the plan sees that.
std::vector<Condition> conditions_of_served(Timestamp now) {
  return {{kServingCondition, ConditionStatus::True, "Serving", "", now},
          {kProvisioningCondition, ConditionStatus::False, "Complete", "", now}};
}

bool has_condition(const Service& service, const char* type) {
  return find_condition(service.status.conditions, type) != nullptr;
}

bool lacks_ports(const StatusApply& write) {
  return std::all_of(write.ingress.begin(), write.ingress.end(),
                     [](const Ingress& entry) { return entry.ports.empty(); });
}

bool lacks_ip_mode(const StatusApply& write) {
  return std::all_of(write.ingress.begin(), write.ingress.end(),
                     [](const Ingress& entry) { return entry.ip_mode.empty(); });
}

}  // namespace

StatusApply owned_fields(const Service& service) {
  StatusApply out{.key = service.key, .uid = service.uid, .finalizer = has_finalizer(service)};
  const auto observed = service.annotations.find(kObservedAnnotation);
  if (observed != service.annotations.end()) out.observed = observed->second;
  out.ingress = service.status.ingress;
  for (const auto* type : kOurConditions)
    if (const auto* condition = find_condition(service.status.conditions, type))
      out.conditions.push_back(*condition);
  return out;
}

Service as_reported(Service service, const std::optional<Report>& report, Timestamp now) {
  if (report && owned_fields(service) == report->shown) {
    service.status.ingress = report->meant.ingress;
    replace_conditions(service, report->meant.conditions);
    return service;
  }
  if (!was_ours(service) || has_condition(service, kServingCondition) ||
      has_condition(service, kProvisioningCondition))
    return service;
  if (report)
    replace_conditions(service, report->meant.conditions);
  else if (!service.status.ingress.empty())
    replace_conditions(service, conditions_of_served(now));
  return service;
}

StatusApply written_form(StatusApply meant, const Policy& policy) {
  if (!policy.conditions) meant.conditions.clear();
  return meant;
}

bool must_write(const StatusApply& meant, const Service& service,
                const std::optional<Report>& report, const Policy& policy) {
  const auto wanted = written_form(meant, policy);
  auto shown = owned_fields(service);
  // Nothing is begun without finalizer and mark, so a server that drops them is asked again.
  if (!shown.finalizer || last_observed(service) != mark_hash(meant.observed)) return true;
  const bool sent = report && !report->retry && shown == report->shown &&
                    written_form(report->meant, policy) == wanted;
  // A mark of a previous release's form is right; the next write brings it up to date.
  shown.observed = wanted.observed;
  return !sent && shown != wanted;
}

bool same_ingress(const std::vector<Ingress>& shown, const std::vector<Ingress>& meant) {
  return std::equal(shown.begin(), shown.end(), meant.begin(), meant.end(),
                    [](const Ingress& a, const Ingress& b) {
                      return a.ip == b.ip && a.hostname == b.hostname &&
                             (a.ip_mode.empty() || a.ip_mode == b.ip_mode) &&
                             (a.ports.empty() || a.ports == b.ports);
                    });
}

std::string not_kept(const StatusApply& sent, const StatusApply& shown) {
  std::string out;
  const auto add = [&](bool missing, const char* field) {
    if (missing) out += (out.empty() ? "" : ", ") + std::string(field);
  };
  add(sent.finalizer && !shown.finalizer, "metadata.finalizers");
  add(sent.observed != shown.observed, kObservedAnnotation);
  const bool ingress = shown.ingress.size() == sent.ingress.size();
  add(!ingress, "status.loadBalancer.ingress");
  add(ingress && lacks_ports(shown) && !lacks_ports(sent), "status.loadBalancer.ingress.ports");
  add(ingress && lacks_ip_mode(shown) && !lacks_ip_mode(sent),
      "status.loadBalancer.ingress.ipMode");
  add(shown.conditions.size() < sent.conditions.size(), "status.conditions");
  if (out.empty() && sent != shown) out = "some of the values";
  return out;
}

}  // namespace kindlb::core

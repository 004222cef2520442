// The script of `kindlb demo --script conditions`. Each step waits for conditions, never for a
// time, so the pace is that of the machine; the faults come from the kindlb.dev/fault-*
// annotations, which any user can set.

#include "api.hpp"
#include "kindlb/core/conditions.hpp"
#include "script.hpp"
#include "service_text.hpp"

namespace kindlb::demo {

namespace {
using core::find_condition;
using core::Service;

constexpr const char* kManifest = R"(apiVersion: v1
kind: Service
metadata:
  name: story
  annotations:
    kindlb.dev/fault-provisioning-delay: 4s
spec:
  type: LoadBalancer
  selector: {app: echo}
  ports:
  - {name: http, port: 80, targetPort: 8080}
)";

/// Whether a condition has this status and reason; an empty reason matches any.
bool is(const Service& service, const char* type, core::ConditionStatus status,
        const std::string& reason = "") {
  const auto* const found = find_condition(service.status.conditions, type);
  return found != nullptr && found->status == status && (reason.empty() || found->reason == reason);
}

bool is_settled(const Service& service) {
  return is(service, core::kProvisioningCondition, core::ConditionStatus::False);
}

bool is_degraded(const Service& service) {
  return core::is_true(service.status.conditions, core::kDegradedCondition);
}

std::function<bool(const Service&)> not_serving(const std::string& reason) {
  return [reason](const Service& service) {
    return is_settled(service) &&
           is(service, core::kServingCondition, core::ConditionStatus::False, reason);
  };
}

std::function<core::Result<void>(http::Client&)> patched(const std::string& json) {
  return [json](http::Client& api) { return merge_patch(api, "story", json); };
}

core::Result<void> create(http::Client& api) {
  const auto applied = apply_manifest(api, kManifest, "story.yaml");
  return applied ? core::Result<void>() : core::Result<void>(applied.error());
}

core::Result<void> no_action(http::Client&) {
  return {};
}
}  // namespace

/// The states follow KEP-4631's "Service Lifecycle"; each step starts from the state that the
/// previous one has reached, so their order cannot be changed.
std::vector<Step> condition_steps() {
  return {
      {"Create", "The provider has seen the Service: both conditions appear in one write.",
       "kubectl apply -f story.yaml     # with kindlb.dev/fault-provisioning-delay: 4s", create,
       [](const Service& s) { return is_provisioning(s) && !is_serving(s); },
       core::kServingCondition},
      {"Provisioning delay",
       "Clouds take their time; this one takes 4 s. Until then there is no address, and "
       "Serving=False says why.",
       "kubectl wait --for=condition=LoadBalancerServing service/story", no_action,
       [](const Service& s) { return is_settled(s) && is_serving(s); }, ""},
      {"Serving",
       "Serving=True and the address came in one write, and not before a pod had answered. So the "
       "first request works.",
       "kubectl get service story", no_action,
       [](const Service& s) { return is_settled(s) && is_serving(s); }, core::kServingCondition,
       true},
      {"Update while serving",
       "A UDP port is added. The old port goes on serving, so Serving stays True while "
       "Provisioning is True; its time moves when the new port is open.",
       "kubectl patch service story -p '{\"spec\":{\"ports\":[...,{\"name\":\"udp\",...}]}}'",
       patched(R"({"spec":{"ports":[{"name":"http","port":80,"targetPort":8080},)"
               R"({"name":"udp","port":53,"protocol":"UDP","targetPort":8080}]}})"),
       [](const Service& s) {
         return is_settled(s) && is_serving(s) && !s.status.ingress.empty() &&
                s.status.ingress[0].ports.size() == 2;
       },
       core::kServingCondition, true},
      {"Degraded",
       "The Service asks for session affinity, which this provider no longer supports. It serves "
       "without it, and reports that.",
       "kubectl annotate service story kindlb.dev/fault-unsupported=SessionAffinity\n"
       "kubectl patch service story -p '{\"spec\":{\"sessionAffinity\":\"ClientIP\"}}'",
       patched(R"({"metadata":{"annotations":{"kindlb.dev/fault-unsupported":"SessionAffinity",)"
               R"("kindlb.dev/fault-provisioning-delay":null}},)"
               R"("spec":{"sessionAffinity":"ClientIP"}})"),
       [](const Service& s) { return is_settled(s) && is_serving(s) && is_degraded(s); },
       core::kDegradedCondition, true},
      {"Refused",
       "Now affinity is required: better no load balancer than one without it. The address is "
       "removed.",
       "kubectl patch service story "
       "-p '{\"spec\":{\"requiredLoadBalancerFeatures\":[\"SessionAffinity\"]}}'",
       patched(R"({"spec":{"requiredLoadBalancerFeatures":["SessionAffinity"]}})"),
       not_serving("Unsupported"), core::kServingCondition},
      {"Infrastructure failure", "The feature is back, but the cloud is out of load balancers.",
       "kubectl annotate service story kindlb.dev/fault-unsupported- "
       "kindlb.dev/fault-infrastructure='quota exceeded'",
       patched(R"({"metadata":{"annotations":{"kindlb.dev/fault-unsupported":null,)"
               R"("kindlb.dev/fault-infrastructure":"quota exceeded"}}})"),
       not_serving("Infrastructure"), core::kServingCondition},
      {"Recovery", "The quota is raised, and everything is served: affinity and both ports.",
       "kubectl annotate service story kindlb.dev/fault-infrastructure-",
       patched(R"({"metadata":{"annotations":{"kindlb.dev/fault-infrastructure":null}}})"),
       [](const Service& s) { return is_settled(s) && is_serving(s) && !is_degraded(s); },
       core::kServingCondition, true},
  };
}

}  // namespace kindlb::demo

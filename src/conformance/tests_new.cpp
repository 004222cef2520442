// The tests that the KEP asks to be added, and its rules for providers.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
/// How long to wait for a write that must not come. The control Service is served by then. What is
/// written and taken back meanwhile counts, too.
constexpr milliseconds kQuiet{3'000};

/// A port that the provider could not open has an error in its port status (KEP-1435), even if the
/// Service as a whole serves.
Outcome mixed(TestContext& context, const Port& other) {
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.ports = {kWeb, other};
  if (auto end = web.publish(wanted)) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  if (auto end = web.check_answers(other)) return *end;
  const auto service = web.fetch();
  if (!service) return context.fail(service.error());
  for (const auto& ingress : service->status.ingress)
    for (const auto& port : ingress.ports)
      if (!port.error.empty())
        return context.fail(fmt::format("port {} has the error {}", port.port, port.error));
  return {};
}

/// Name what only a provider writes; empty: none of it is there.
std::string trace_of_provider(const core::Service& service) {
  const auto observed = observed_status(service);
  if (!service.status.conditions.empty())
    return "the condition " + service.status.conditions.front().type;
  if (observed.has_address) return "an address";
  return observed.has_finalizer ? "the finalizer" : "";
}

const core::Condition* condition(const core::Service& service, const char* type) {
  const auto& all = service.status.conditions;
  const auto found = std::ranges::find(all, type, &core::Condition::type);
  return found == all.end() ? nullptr : &*found;
}

void note_reason(TestContext& context, const core::Service& service, const char* type,
                 const char* usual) {
  const auto* const found = condition(service, type);
  if (found != nullptr && found->reason != usual)
    context.note(fmt::format("{} has the reason {}, not {}", type, found->reason, usual));
}
}  // namespace

/// Skipped where the cluster cannot do it at all: the API server rejects the Service, or the pods
/// have addresses of one family. Only then is the provider asked.
Outcome dual_stack(TestContext& context) {
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.spec = {{"ipFamilyPolicy", "RequireDualStack"}};
  wanted.endpoint_families = 2;
  if (auto end = web.create(wanted)) {
    if (web.refusal() && web.refusal()->kind == core::ErrorKind::Invalid)
      return {Verdict::Skip, "the cluster is not dual-stack: " + web.refusal()->detail};
    if (end->verdict == Verdict::Fail && !web.refusal() && !web.await_endpoints(1))
      return {Verdict::Skip, "the pods have addresses of one family only"};
    return *end;
  }
  if (auto end = web.become_load_balancer()) return *end;
  std::set<core::IpFamily> families;
  for (const auto& address : web.addresses()) families.insert(address.family());
  if (families.size() < 2) return context.fail("the status has addresses of one family only");
  if (auto end = web.check_answers(kWeb)) return *end;
  return {};
}

Outcome mixed_protocols(TestContext& context) {
  return mixed(context, {"UDP", 81});
}

Outcome mixed_protocols_one_port(TestContext& context) {
  return mixed(context, {"UDP", kWeb.number});
}

/// Proves a negative, so it needs a control: a second Service without a class, created later, is
/// served first. A provider that has looked at the second must have seen the first.
Outcome class_ignored(TestContext& context) {
  ServiceUnderTest classed(context);
  ServiceUnderTest control(context, "-control");
  if (auto end = classed.create({})) return *end;
  if (auto end = classed.patch(
          {{"type", "LoadBalancer"}, {"loadBalancerClass", "example.com/served-by-nobody"}}))
    return *end;
  // A provider that has served a Service created later has had its chance at the first one.
  if (auto end = control.publish({})) return *end;
  if (!context.pause(kQuiet)) return context.fail("stopped");
  const auto versions = classed.versions();
  if (!versions) return context.fail(versions.error());
  for (const auto& one : *versions)
    if (const auto got = trace_of_provider(one.service); !got.empty())
      return context.fail("a Service of another class got " + got);
  return {};
}

/// The rules for conditions that the other tests rely on. Reasons that differ from the KEP's are
/// noted but do not fail the test.
Outcome conditions_life_cycle(TestContext& context) {
  if (!context.writes_conditions()) return {Verdict::Skip, describe(context.env().provider)};
  ServiceUnderTest web(context);
  if (auto end = web.publish({})) return *end;
  const auto service = web.fetch();
  if (!service) return context.fail(service.error());
  note_reason(context, *service, core::kServingCondition, "Serving");
  note_reason(context, *service, core::kProvisioningCondition, "Complete");
  const auto* const degraded = condition(*service, core::kDegradedCondition);
  if (degraded != nullptr && degraded->status == core::ConditionStatus::True)
    context.note("a plain Service is degraded: " + degraded->reason + ", " + degraded->message);
  // Changes that clients can and cannot see; judge_change() checks the transition times.
  if (auto end = web.change({{"ports", web.ports_of({{"TCP", 81}})}})) return *end;
  if (auto end = web.change({{"externalTrafficPolicy", "Local"}}, false)) return *end;
  if (auto end = web.change({{"externalTrafficPolicy", "Cluster"}}, false)) return *end;
  return {};
}

/// A provider must refuse a required feature that it does not know. The judge skips on a refusal,
/// as in every other optional test, so here Skip is the success.
Outcome unknown_feature_refused(TestContext& context) {
  if (!context.writes_conditions()) return {Verdict::Skip, describe(context.env().provider)};
  ServiceUnderTest web(context);
  if (auto end = web.create({})) return *end;
  if (auto end = web.request_load_balancer()) return *end;
  if (!web.declared())
    return {Verdict::Skip, "this API server lacks spec.requiredLoadBalancerFeatures"};
  const auto end = web.await_served();
  if (!end) return context.fail("a required feature that does not exist was not refused");
  if (end->verdict != Verdict::Skip) return *end;
  const auto service = web.fetch();
  if (!service) return context.fail(service.error());
  if (!service->status.ingress.empty())
    return context.fail("the Service was refused, but has an address");
  return {};
}

}  // namespace kindlb::conformance

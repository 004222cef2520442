// The tests the KEP asks to be added, and its rules for providers themselves.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
/// For a write that must not come; the control Service has been dealt with by then.
constexpr milliseconds kQuiet{3'000};

Outcome mixed(Scene& scene, const Port& other) {
  Balancer web(scene);
  Wish wish;
  wish.ports = {kWeb, other};
  if (auto end = web.publish(wish)) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  if (auto end = web.answers(other)) return *end;
  const auto service = web.look();
  if (!service) return scene.fail(service.error());
  for (const auto& ingress : service->status.ingress)
    for (const auto& port : ingress.ports)
      if (!port.error.empty())
        return scene.fail(fmt::format("port {} carries the error {}", port.port, port.error));
  return {};
}

const core::Condition* condition(const core::Service& service, const char* type) {
  const auto& all = service.status.conditions;
  const auto found = std::ranges::find(all, type, &core::Condition::type);
  return found == all.end() ? nullptr : &*found;
}

void note_reason(Scene& scene, const core::Service& service, const char* type, const char* usual) {
  const auto* const found = condition(service, type);
  if (found != nullptr && found->reason != usual)
    scene.note(fmt::format("{} has reason {}, not {}", type, found->reason, usual));
}
}  // namespace

Outcome dual_stack(Scene& scene) {
  Balancer web(scene);
  Wish wish;
  wish.any = {{"ipFamilyPolicy", "RequireDualStack"}};
  wish.families = 2;
  if (auto end = web.create(wish)) {
    if (web.refusal() && web.refusal()->kind == core::ErrorKind::Invalid)
      return {Verdict::Skip, "this cluster is not dual-stack: " + web.refusal()->detail};
    if (end->verdict == Verdict::Fail && !web.refusal() && !web.await_endpoints(1))
      return {Verdict::Skip, "the pods have addresses of one family only"};
    return *end;
  }
  if (auto end = web.become_balancer()) return *end;
  std::set<core::IpFamily> families;
  for (const auto& address : web.addresses()) families.insert(address.family());
  if (families.size() < 2) return scene.fail("the status has addresses of one family only");
  if (auto end = web.answers(kWeb)) return *end;
  return {};
}

Outcome mixed_protocols(Scene& scene) {
  return mixed(scene, {"UDP", 81});
}

Outcome mixed_protocols_one_port(Scene& scene) {
  return mixed(scene, {"UDP", kWeb.number});
}

Outcome class_ignored(Scene& scene) {
  Balancer classed(scene);
  Balancer control(scene, "-control");
  if (auto end = classed.create({})) return *end;
  if (auto end = classed.patch(
          {{"type", "LoadBalancer"}, {"loadBalancerClass", "example.com/served-by-nobody"}}))
    return *end;
  // Whoever has served one that came later had its chance at the first.
  if (auto end = control.publish({})) return *end;
  if (!scene.pause(kQuiet)) return scene.fail("stopped");
  const auto service = classed.look();
  if (!service) return scene.fail(service.error());
  const auto sight = sight_of(*service);
  if (!service->status.conditions.empty())
    return scene.fail("a Service of another class got the condition " +
                      service->status.conditions.front().type);
  if (sight.has_address) return scene.fail("a Service of another class got an address");
  if (sight.has_finalizer) return scene.fail("a Service of another class got the finalizer");
  return {};
}

Outcome conditions_life_cycle(Scene& scene) {
  if (!scene.speaks()) return {Verdict::Skip, describe(scene.world().provider)};
  Balancer web(scene);
  if (auto end = web.publish({})) return *end;
  const auto service = web.look();
  if (!service) return scene.fail(service.error());
  note_reason(scene, *service, core::kServingCondition, "Serving");
  note_reason(scene, *service, core::kProvisioningCondition, "Complete");
  const auto* const degraded = condition(*service, core::kDegradedCondition);
  if (degraded != nullptr && degraded->status == core::ConditionStatus::True)
    scene.note("a plain Service is marked degraded: " + degraded->reason + ", " +
               degraded->message);
  // Changes that clients can and cannot see; judge_change looks at the times.
  if (auto end = web.change({{"ports", web.ports_of({{"TCP", 81}})}})) return *end;
  if (auto end = web.change({{"externalTrafficPolicy", "Local"}}, false)) return *end;
  if (auto end = web.change({{"externalTrafficPolicy", "Cluster"}}, false)) return *end;
  return {};
}

Outcome unknown_feature_refused(Scene& scene) {
  if (!scene.speaks()) return {Verdict::Skip, describe(scene.world().provider)};
  Balancer web(scene);
  if (auto end = web.create({})) return *end;
  if (auto end = web.request()) return *end;
  if (!web.stated()) return {Verdict::Skip, "this API server has no requiredLoadBalancerFeatures"};
  const auto end = web.await_service();
  if (!end) return scene.fail("a required feature that nobody knows was not refused");
  if (end->verdict != Verdict::Skip) return *end;
  const auto service = web.look();
  if (!service) return scene.fail(service.error());
  if (!service->status.ingress.empty()) return scene.fail("it was refused, and has an address");
  return {};
}

}  // namespace kindlb::conformance

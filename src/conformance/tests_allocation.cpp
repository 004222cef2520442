// What the API server allocates for a load balancer that may not need it: a ClusterIP (KEP-3622)
// and a health-check node port (KEP-4144). The e2e tests of both KEPs: switched off, on again,
// given back, and untouched by `kubectl apply`. Meanwhile the provider serves, because it must not
// depend on what a Service may lack. (Node ports: without_node_ports().)

#include "service_under_test.hpp"

#include <fmt/format.h>

namespace kindlb::conformance {

namespace {
/// One toggle of the API, and what it controls.
struct Toggle {
  const char* field;
  const char* allocated;  ///< the field that the API server fills in
};
constexpr Toggle kClusterIpToggle{"allocateLoadBalancerClusterIP", "clusterIP"};
constexpr Toggle kHealthCheckToggle{"allocateLoadBalancerHCNodePort", "healthCheckNodePort"};

Json set_to(const Toggle& toggle, bool value) {
  return {{toggle.field, value}};
}

EarlyEnd skip_unless_known(TestContext& context, const ServiceUnderTest& web, const Toggle& toggle,
                           const Json& fields) {
  const auto known = web.api_keeps(fields);
  if (!known) return context.fail(known.error());
  if (*known) return std::nullopt;
  return Outcome{Verdict::Skip, fmt::format("this API server lacks spec.{}", toggle.field)};
}

/// Return what the API server has allocated, as JSON text; empty: nothing.
core::Result<std::string> allocated(const ServiceUnderTest& web, const Toggle& toggle) {
  const auto spec = web.fetch_spec();
  if (!spec) return spec.error();
  const auto found = spec->find(toggle.allocated);
  if (found == spec->end() || *found == 0 || *found == "") return std::string();
  return json::dump(*found);
}

/// Check that a value is there, or not, and that it is still the same if there was one before. The
/// load balancer has to answer in any case.
EarlyEnd check_allocated(TestContext& context, ServiceUnderTest& web, const Toggle& toggle,
                         bool wanted, const char* after, std::string& value) {
  const auto now = allocated(web, toggle);
  if (!now) return context.fail(now.error());
  if (now->empty() == wanted)
    return context.fail(fmt::format("{}, the Service has {} {}", after, wanted ? "no" : "still a",
                                    toggle.allocated));
  if (wanted && !value.empty() && *now != value)
    return context.fail(
        fmt::format("{}, {} is {} instead of {}", after, toggle.allocated, *now, value));
  value = *now;
  if (auto end = web.await_served()) return end;
  if (auto end = web.await_answers(kWeb)) return end;
  return web.check_addresses_kept();
}

/// Check that neither kind of `kubectl apply` changes the toggle or what is allocated.
EarlyEnd check_apply_keeps(TestContext& context, ServiceUnderTest& web, const Toggle& toggle,
                           bool on, std::string& value) {
  if (auto end = web.apply_again(set_to(toggle, on))) return end;
  const auto spec = web.fetch_spec();
  if (!spec) return context.fail(spec.error());
  if (spec->value(toggle.field, !on) != on)
    return context.fail(fmt::format("after kubectl apply, {} is {}", toggle.field, !on));
  return check_allocated(context, web, toggle, !value.empty(), "after kubectl apply", value);
}

/// Begin without, then switch it on: what both tests have in common.
EarlyEnd check_off_and_on(TestContext& context, ServiceUnderTest& web, const Toggle& toggle,
                          std::string& value) {
  if (auto end = check_allocated(context, web, toggle, false, "after creation", value)) return end;
  context.mark_supported();
  if (auto end = check_apply_keeps(context, web, toggle, false, value)) return end;
  if (auto end = web.patch(set_to(toggle, true))) return end;
  if (auto end = check_allocated(context, web, toggle, true, "switched on", value)) return end;
  return check_apply_keeps(context, web, toggle, true, value);
}
}  // namespace

/// Only a Service that is created as a LoadBalancer can be without a ClusterIP: one that has it
/// keeps it, and the API server refuses to switch allocation off.
Outcome without_cluster_ip(TestContext& context) {
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.load_balancer_spec = set_to(kClusterIpToggle, false);
  wanted.born_as_load_balancer = true;
  if (auto end = skip_unless_known(context, web, kClusterIpToggle, wanted.load_balancer_spec))
    return *end;
  if (auto end = web.publish(wanted)) return *end;
  std::string address;
  if (auto end = check_off_and_on(context, web, kClusterIpToggle, address)) return *end;
  if (!web.patch(set_to(kClusterIpToggle, false)))
    return context.fail("allocation was switched off although there is a ClusterIP");
  if (auto end =
          check_allocated(context, web, kClusterIpToggle, true, "after a refused change", address))
    return *end;
  return {};
}

/// Switched off, an existing port stays until it is removed explicitly, and then no new one comes.
Outcome without_health_check_port(TestContext& context) {
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.load_balancer_spec = set_to(kHealthCheckToggle, false);
  wanted.load_balancer_spec["externalTrafficPolicy"] = "Local";
  if (auto end = skip_unless_known(context, web, kHealthCheckToggle, wanted.load_balancer_spec))
    return *end;
  if (auto end = web.publish(wanted)) return *end;
  std::string port;
  if (auto end = check_off_and_on(context, web, kHealthCheckToggle, port)) return *end;
  if (auto end = web.patch(set_to(kHealthCheckToggle, false))) return *end;
  if (auto end = check_allocated(context, web, kHealthCheckToggle, true, "switched off", port))
    return *end;
  if (auto end = check_apply_keeps(context, web, kHealthCheckToggle, false, port)) return *end;
  if (auto end = web.patch({{kHealthCheckToggle.allocated, nullptr}})) return *end;
  port.clear();
  if (auto end = check_allocated(context, web, kHealthCheckToggle, false, "removed", port))
    return *end;
  if (auto end = check_apply_keeps(context, web, kHealthCheckToggle, false, port)) return *end;
  if (auto end = web.patch(set_to(kHealthCheckToggle, true))) return *end;
  if (auto end = check_allocated(context, web, kHealthCheckToggle, true, "switched on again", port))
    return *end;
  return {};
}

}  // namespace kindlb::conformance

#include "kindlb/core/recovery.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::core {

namespace {

/// Give up the reserved addresses that are not in the status. Which of them another host answers
/// for is not known: the proxy is told all of them at once.
void give_up_addresses(Recovery& out, const Attempt& attempt) {
  std::vector<IpAddress> kept;
  for (const auto& address : out.memory.reserved) {
    const auto reported = reported_addresses(attempt.service, address.family());
    const bool known = std::find(reported.begin(), reported.end(), address) != reported.end();
    (known ? kept : out.conflicting).push_back(address);
  }
  out.memory.reserved = std::move(kept);
  if (out.conflicting.empty()) return;
  out.warning = attempt.proxy.rejection + "; choosing another address";
  out.plan_again = true;
}

void use_node_ports(Recovery& out, const Attempt& attempt, const PathState& path) {
  out.memory.path = path;
  out.warning = "pods cannot be reached directly (" + attempt.proxy.reach_detail +
                "); falling back to node ports";
  out.plan_again = true;
}

/// Return whether the Service is reported as serving, whatever the API shows of that.
bool is_reported_serving(const Service& service, const ServiceMemory& memory) {
  return is_true(as_reported(service, memory.report, {}).status.conditions, kServingCondition);
}

/// In this order: an address that another host uses, a rejected configuration, endpoints that
/// cannot be reached. While a plan is on its way to the proxy, or the proxy is not up, there is
/// nothing to conclude yet.
void respond_to_failure(Recovery& out, const Attempt& attempt) {
  const auto& [service, plan, proxy] = attempt;
  if (!proxy.present || plan.apply || !proxy.live) return;
  if (proxy.address_refused) {
    give_up_addresses(out, attempt);
    if (!out.conflicting.empty()) return;
  }
  if (!proxy.rejection.empty()) {
    out.retry_later = true;
    return;
  }
  if (proxy.reach != Reach::Unreachable || is_reported_serving(service, out.memory)) return;
  if (const auto path = plan.may_fall_back ? fall_back(out.memory.path) : std::nullopt)
    return use_node_ports(out, attempt, *path);
  out.retry_later = true;
}

}  // namespace

ServiceMemory remember(ServiceMemory memory, const Plan& plan) {
  if (!plan.addresses.empty() || plan.unreserve) memory.reserved = plan.addresses;
  if (plan.write) return memory;
  if (!plan.last_reported.hash.empty()) memory.last_reported = plan.last_reported;
  if (plan.report) memory.report = plan.report;
  return memory;
}

ServiceMemory remember_answer(ServiceMemory memory, const Plan& plan, const Service& answer) {
  if (plan.report)
    memory.report = Report{.meant = plan.report->meant, .shown = owned_fields(answer)};
  return memory;
}

Recovery recover(ServiceMemory memory, const Attempt& attempt, double random) {
  Recovery out{.memory = std::move(memory)};
  respond_to_failure(out, attempt);
  const auto step = next_step(out.memory.path,
                              {.reach = attempt.proxy.reach,
                               .on_fallback = attempt.plan.on_fallback,
                               .direct_retried = attempt.plan.direct_retried},
                              random);
  out.memory.path = step.state;
  out.plan_again = out.plan_again || step.plan_again;
  out.retry_direct_after = step.retry_after;
  if (step.returns)
    out.good_news = "pods can be reached directly again; no longer using node ports";
  return out;
}

}  // namespace kindlb::core

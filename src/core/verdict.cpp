// Each evaluate_* function looks at one feature, narrows the verdict, and records a limitation
// where the request cannot be met. Whether limitations refuse or degrade is decided at the end,
// from required features and --strict alone, so that all reasons of a refusal are reported
// together. The order of the evaluate_* calls matters: addresses need the accepted families, proxy
// protocol the accepted ports.
#include "kindlb/core/verdict.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "limitations.hpp"

#include <algorithm>
#include <string_view>

namespace kindlb::core {

namespace {

/// The inputs of one evaluation.
struct Context {
  const Service& service;
  const ServiceRequest& request;
  const Policy& policy;
  const NetworkEnvironment& environment;
  Capabilities can;
};

/// Return the capabilities without those that kindlb.dev/fault-unsupported disables.
Capabilities capabilities_for(const ServiceRequest& request, const Policy& policy) {
  auto out = policy.capabilities;
  const auto missing = [&](const char* feature) {
    return request.faults.unsupported.contains(feature);
  };
  if (missing("IPFamilies")) out.dual_stack = false;
  if (missing("Ports")) out.several_ports = false;
  if (missing("SessionAffinity")) out.session_affinity = false;
  if (missing("LoadBalancerIP")) out.load_balancer_ip = false;
  if (missing("LoadBalancerSourceRanges")) out.source_ranges = false;
  if (missing("ExternalTrafficPolicy")) out.preserves_source_ip = false;
  return out;
}

/// Return what to change to get a capability: the annotation or the profile that disables it.
std::string capability_remedy(const Context& context, const char* feature) {
  return context.request.faults.unsupported.contains(feature)
             ? "remove the annotation kindlb.dev/fault-unsupported"
             : "run kindlb with another --profile";
}

std::string families_remedy(const Context& context, const std::vector<IpFamily>& missing) {
  std::string usable;
  for (const auto family : context.environment.families)
    if (context.can.families.contains(family))
      usable += (usable.empty() ? "use " : " or ") + std::string(name_of(family));
  const bool network = std::any_of(missing.begin(), missing.end(), [&](IpFamily family) {
    return !context.environment.families.contains(family);
  });
  return (usable.empty() ? "" : usable + " only, or ") +
         (network ? "use a docker network that has it" : capability_remedy(context, "IPFamilies"));
}

void evaluate_families(const Context& context, Verdict& verdict, Limitations& limitations) {
  auto asked = context.service.spec.ip_families;
  if (asked.empty()) asked.push_back(IpFamily::V4);
  std::vector<IpFamily> missing;
  for (const auto family : asked) {
    const bool room = context.can.dual_stack || verdict.families.empty();
    const bool had =
        context.can.families.contains(family) && context.environment.families.contains(family);
    (room && had ? verdict.families : missing).push_back(family);
  }
  if (missing.empty()) return;
  std::vector<std::string> names;
  for (const auto family : missing) names.emplace_back(name_of(family));
  Limitation limitation{.feature = "IPFamilies",
                        .reason = "IPFamiliesNotSupported",
                        .what = base::joined(names) + " of spec.ipFamilies is not available here",
                        .instead = "",
                        .remedy = families_remedy(context, missing)};
  if (!verdict.families.empty())
    limitation.instead = std::string("only ") + name_of(verdict.families[0]) + " is served";
  (verdict.families.empty() ? limitations.fatal : limitations.degradable)
      .push_back(std::move(limitation));
}

/// Refuse even if node ports exist from before: KEP-4631 refuses the request itself.
void evaluate_node_ports(const Context& context, Verdict& verdict, Limitations& limitations) {
  if (context.request.datapath == Datapath::Direct && !context.can.direct_path)
    verdict.notes.emplace_back(
        "Annotation kindlb.dev/datapath requests the direct path, which this profile does not "
        "have; "
        "node ports are used.");
  if (context.service.spec.allocate_node_ports ||
      datapath_for(context.request, context.policy) != Datapath::NodePort)
    return;
  const char* why =
      "kindlb uses node ports only (--datapath nodeport); remove the field or "
      "run with --datapath auto";
  if (!context.can.direct_path)
    why = "only node ports are supported by this profile; remove the field or use another profile";
  else if (context.request.datapath == Datapath::NodePort)
    why = "the annotation kindlb.dev/datapath requests node ports; remove one of the two";
  limitations.fatal.push_back(
      {.feature = "NodePorts",
       .reason = "",
       .what = std::string("spec.allocateLoadBalancerNodePorts is false and ") + why,
       .instead = "",
       .remedy = ""});
}

/// Return whether this very spec has been acted on: kindlb.dev/observed has its hash.
bool was_observed(const Context& context) {
  return last_observed(context.service) == observed_hash(context.service, context.policy);
}

void evaluate_affinity(const Context& context, Verdict& verdict, Limitations& limitations) {
  if (context.service.spec.affinity == Affinity::None) return;
  if (context.can.session_affinity) {
    verdict.affinity = context.service.spec.affinity;
    evaluate_affinity_timeout(context.service, was_observed(context), limitations);
    return;
  }
  limitations.degradable.push_back(
      {.feature = "SessionAffinity",
       .reason = "SessionAffinityNotSupported",
       .what = "spec.sessionAffinity ClientIP is not supported",
       .instead = "connections of one client may reach different endpoints",
       .remedy = "remove the field or " + capability_remedy(context, "SessionAffinity")});
}

/// Fail closed: an entry that cannot be parsed, and a family without a range, admit no client
/// (docs/contract.md §4).
void evaluate_ranges(const Context& context, Verdict& verdict, Limitations& limitations) {
  const auto& ranges = context.request.ranges;
  if (!ranges.given()) return;
  if (!context.can.source_ranges) {
    limitations.degradable.push_back(
        {.feature = "LoadBalancerSourceRanges",
         .reason = "LoadBalancerSourceRangesNotSupported",
         .what = ranges.field + " is not supported",
         .instead = "connections from everywhere are accepted",
         .remedy = "remove it or " + capability_remedy(context, "LoadBalancerSourceRanges")});
    return;
  }
  verdict.ranges = ranges;
  for (const auto& entry : ranges.unreadable)
    verdict.notes.push_back("Entry \"" + entry + "\" of " + ranges.field +
                            " is not a CIDR and admits no client; write it like 10.0.0.0/8.");
  for (const auto family : verdict.families)
    if (ranges.of(family).empty())
      verdict.notes.push_back(ranges.field + " has no " + name_of(family) +
                              " range: no client is admitted over " + name_of(family) + ".");
}

/// Return whether the Service was given another address than the requested one and keeps it: an
/// address never moves without a change of the Service, not even when the requested one becomes
/// free.
bool keeps_another(const Context& context, const IpAddress& wanted) {
  const auto& service = context.service;
  const auto& conditions = service.status.conditions;
  if (!is_true(conditions, kServingCondition) || is_true(conditions, kProvisioningCondition))
    return false;
  const auto held = reported_addresses(service, wanted.family());
  return !held.empty() && std::find(held.begin(), held.end(), wanted) == held.end() &&
         was_observed(context);
}

/// Explain why the Service cannot have an address; empty: it can.
std::string why_not(const Context& context, const Verdict& verdict, const IpAddress& wanted) {
  const auto family = wanted.family();
  if (!context.can.load_balancer_ip) return "cannot be chosen";
  if (std::find(verdict.families.begin(), verdict.families.end(), family) == verdict.families.end())
    return std::string("is ") + name_of(family) + ", which this Service is not served on";
  if (context.environment.network != nullptr)
    if (const auto space = context.environment.network->find(family);
        space != context.environment.network->end())
      if (auto why = why_not_usable(wanted, space->second); !why.empty()) return why;
  return keeps_another(context, wanted) ? "is already in use" : "";
}

void evaluate_addresses(const Context& context, Verdict& verdict, Limitations& limitations) {
  const auto& chosen = context.request.addresses;
  auto problems = chosen.problems;
  for (const auto& [family, address] : chosen.by_family) {
    if (const auto why = why_not(context, verdict, address); why.empty())
      verdict.addresses.emplace(family, address);
    else
      problems.push_back(chosen.field.at(family) + " " + address.text() + " " + why);
  }
  if (problems.empty()) return;
  limitations.degradable.push_back(
      {.feature = "LoadBalancerIP",
       .reason = "LoadBalancerIPNotSupported",
       .what = base::joined(problems, "; "),
       .instead = "another address is used until the Service is changed",
       .remedy = context.can.load_balancer_ip
                     ? "choose a free address of the docker network, or none"
                     : "choose none or " + capability_remedy(context, "LoadBalancerIP")});
}

void evaluate_traffic_policy(const Context& context, Limitations& limitations) {
  if (context.service.spec.external_traffic_policy != TrafficPolicy::Local ||
      context.can.preserves_source_ip)
    return;
  limitations.degradable.push_back(
      {.feature = "ExternalTrafficPolicy",
       .reason = "ExternalTrafficPolicyNotSupported",
       .what = "spec.externalTrafficPolicy is Local, and a proxy does not preserve the client's "
               "source IP",
       .instead = "Local is honoured for routing, and the annotation kindlb.dev/proxy-protocol "
                  "passes the client's address to pods",
       .remedy = "use Cluster if pods do not need the client's address"});
}

void evaluate_proxy_protocol(const Context& context, Verdict& verdict) {
  verdict.proxy_protocol = context.request.proxy_protocol;
  if (verdict.proxy_protocol == ProxyProtocol::None) return;
  if (std::any_of(verdict.ports.begin(), verdict.ports.end(),
                  [](const ServicePort& port) { return port.protocol != Protocol::Tcp; }))
    verdict.notes.emplace_back("Annotation kindlb.dev/proxy-protocol applies to TCP ports only.");
}

/// Make the limitations of required features fatal.
void refuse_features(const std::set<std::string>& required, const std::string& remedy,
                     Limitations& limitations) {
  auto& soft = limitations.degradable;
  const auto split =
      std::stable_partition(soft.begin(), soft.end(), [&](const Limitation& limitation) {
        return limitation.granted || !required.contains(limitation.feature);
      });
  for (auto limitation = split; limitation != soft.end(); ++limitation) {
    limitation->remedy += (limitation->remedy.empty() ? "or " : ", or ") + remedy;
    limitations.fatal.push_back(std::move(*limitation));
  }
  soft.erase(split, soft.end());
}

/// Refuse unknown features: what they demand cannot be known to be met (docs/contract.md §3).
void refuse_unknown(const std::set<std::string>& required, Limitations& limitations) {
  for (const auto& name : required)
    if (!is_known_feature(name))
      limitations.fatal.push_back(
          {.feature = name,
           .reason = "",
           .what = "required load-balancer feature \"" + name + "\" is not known to kindlb",
           .instead = "",
           .remedy = "remove it from the required features"});
}

/// With --strict refuse what would be degraded, except traffic policy Local, for which KEP-4631
/// demands the Degraded condition.
void apply_strictness(const Policy& policy, Limitations& limitations) {
  if (!policy.strict) return;
  std::set<std::string> all(kKnownFeatures.begin(), kKnownFeatures.end());
  all.erase("ExternalTrafficPolicy");
  refuse_features(all, "run kindlb without --strict", limitations);
}

/// Compose the messages: what, what is served instead (only if it is served), and the remedy.
std::vector<Reason> to_reasons(const std::vector<Limitation>& limitations, Outcome outcome) {
  std::vector<Reason> out;
  for (const auto& limitation : limitations) {
    auto message = limitation.what;
    if (outcome == Outcome::Degrade) message += "; " + limitation.instead;
    if (!limitation.remedy.empty()) message += "; " + limitation.remedy;
    out.push_back({limitation.feature, limitation.reason, message + "."});
  }
  return out;
}

void sum_up(const Limitations& limitations, Verdict& verdict) {
  if (!limitations.fatal.empty())
    verdict.outcome = Outcome::Refuse;
  else if (!limitations.degradable.empty())
    verdict.outcome = Outcome::Degrade;
  const bool refused = verdict.outcome == Outcome::Refuse;
  verdict.reasons =
      to_reasons(refused ? limitations.fatal : limitations.degradable, verdict.outcome);
}

}  // namespace

Verdict evaluate(const Service& service, const ServiceRequest& request, const Policy& policy,
                 const NetworkEnvironment& environment) {
  const Context context{service, request, policy, environment, capabilities_for(request, policy)};
  Verdict verdict;
  Limitations limitations;
  evaluate_families(context, verdict, limitations);
  evaluate_ports(service, context.can, verdict, limitations);
  evaluate_node_ports(context, verdict, limitations);
  evaluate_affinity(context, verdict, limitations);
  evaluate_ranges(context, verdict, limitations);
  evaluate_addresses(context, verdict, limitations);
  evaluate_traffic_policy(context, limitations);
  evaluate_proxy_protocol(context, verdict);
  refuse_features(request.required, "do not require it", limitations);
  refuse_unknown(request.required, limitations);
  apply_strictness(policy, limitations);
  sum_up(limitations, verdict);
  return verdict;
}

std::string summary_reason(const std::vector<Reason>& reasons) {
  if (reasons.empty()) return {};
  return reasons.size() == 1 ? reasons[0].reason : "Multiple";
}

std::string summary_message(const std::vector<Reason>& reasons) {
  std::string out;
  for (const auto& reason : reasons) out += (out.empty() ? "" : " ") + reason.message;
  return out;
}

}  // namespace kindlb::core

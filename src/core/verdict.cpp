#include "kindlb/core/verdict.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "limitations.hpp"

#include <algorithm>
#include <string_view>

namespace kindlb::core {

namespace {

/// One Service before its judge, with what it may rely on.
struct Case {
  const Service& service;
  const ServiceRequest& request;
  const Policy& policy;
  const Surroundings& place;
  Capabilities can;
};

/// What the Service itself asks us to act as if we could not (kindlb.dev/fault-unsupported).
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

/// The way out of not being able to: who or what says that we cannot?
std::string able_way_out(const Case& about, const char* feature) {
  return about.request.faults.unsupported.contains(feature)
             ? "remove the annotation kindlb.dev/fault-unsupported"
             : "run kindlb with another --profile";
}

std::string families_way_out(const Case& about, const std::vector<IpFamily>& missing) {
  std::string usable;
  for (const auto family : about.place.families)
    if (about.can.families.contains(family))
      usable += (usable.empty() ? "use " : " or ") + std::string(name_of(family));
  const bool network = std::any_of(missing.begin(), missing.end(), [&](IpFamily family) {
    return !about.place.families.contains(family);
  });
  return (usable.empty() ? "" : usable + " alone, or ") +
         (network ? "make a docker network that has it" : able_way_out(about, "IPFamilies"));
}

void judge_families(const Case& about, Verdict& verdict, Findings& findings) {
  auto asked = about.service.spec.ip_families;
  if (asked.empty()) asked.push_back(IpFamily::V4);
  std::vector<IpFamily> missing;
  for (const auto family : asked) {
    const bool room = about.can.dual_stack || verdict.families.empty();
    const bool had = about.can.families.contains(family) && about.place.families.contains(family);
    (room && had ? verdict.families : missing).push_back(family);
  }
  if (missing.empty()) return;
  std::vector<std::string> names;
  for (const auto family : missing) names.emplace_back(name_of(family));
  Finding finding{.feature = "IPFamilies",
                  .reason = "IPFamiliesNotSupported",
                  .what = base::joined(names) + " of spec.ipFamilies cannot be provided here",
                  .instead = "",
                  .way_out = families_way_out(about, missing)};
  if (!verdict.families.empty())
    finding.instead = std::string("only ") + name_of(verdict.families[0]) + " is served";
  (verdict.families.empty() ? findings.fatal : findings.degradable).push_back(std::move(finding));
}

/// Whether or not some are there from before: KEP-4631 wants the refusal for the wish itself.
void judge_node_ports(const Case& about, Verdict& verdict, Findings& findings) {
  if (about.request.datapath == Datapath::Direct && !about.can.direct_path)
    verdict.notes.emplace_back(
        "Annotation kindlb.dev/datapath asks for the direct way, which this profile does not have; "
        "node ports are used.");
  if (about.service.spec.allocate_node_ports ||
      datapath_for(about.request, about.policy) != Datapath::NodePort)
    return;
  const char* why =
      "this kindlb goes through node ports (--datapath nodeport); remove the field or "
      "run with --datapath auto";
  if (!about.can.direct_path)
    why = "only node ports are supported by this profile; remove the field or use another profile";
  else if (about.request.datapath == Datapath::NodePort)
    why = "the annotation kindlb.dev/datapath asks for node ports; remove one of the two";
  findings.fatal.push_back(
      {.feature = "NodePorts",
       .reason = "",
       .what = std::string("spec.allocateLoadBalancerNodePorts is false and ") + why,
       .instead = "",
       .way_out = ""});
}

void judge_affinity(const Case& about, Verdict& verdict, Findings& findings) {
  if (about.service.spec.affinity == Affinity::None) return;
  if (about.can.session_affinity) {
    verdict.affinity = about.service.spec.affinity;
    return;
  }
  findings.degradable.push_back(
      {.feature = "SessionAffinity",
       .reason = "SessionAffinityNotSupported",
       .what = "spec.sessionAffinity ClientIP is not supported",
       .instead = "connections of one client may reach different endpoints",
       .way_out = "remove the field or " + able_way_out(about, "SessionAffinity")});
}

/// Fail closed: what cannot be read, and a family without any range, admit nobody.
void judge_ranges(const Case& about, Verdict& verdict, Findings& findings) {
  const auto& ranges = about.request.ranges;
  if (!ranges.given()) return;
  if (!about.can.source_ranges) {
    findings.degradable.push_back(
        {.feature = "LoadBalancerSourceRanges",
         .reason = "LoadBalancerSourceRangesNotSupported",
         .what = ranges.field + " is not supported",
         .instead = "connections from everywhere are accepted",
         .way_out = "remove it or " + able_way_out(about, "LoadBalancerSourceRanges")});
    return;
  }
  verdict.ranges = ranges;
  for (const auto& entry : ranges.unreadable)
    verdict.notes.push_back(
        "Entry \"" + entry + "\" of " + ranges.field +
        " is not an address range and admits nobody; write it as in 10.0.0.0/8.");
  for (const auto family : verdict.families)
    if (ranges.of(family).empty())
      verdict.notes.push_back(ranges.field + " has no " + name_of(family) +
                              " range: nobody is admitted over " + name_of(family) + ".");
}

/// A Service that was given another address keeps it: addresses do not move by themselves, not even
/// to one that became free.
bool keeps_another(const Case& about, const IpAddress& wanted) {
  const auto& service = about.service;
  const auto& conditions = service.status.conditions;
  if (!was_ours(service) || !is_true(conditions, kServingCondition) ||
      is_true(conditions, kProvisioningCondition))
    return false;
  const auto held = reported_addresses(service, wanted.family());
  return !held.empty() && std::find(held.begin(), held.end(), wanted) == held.end() &&
         service.annotations.at(kObservedAnnotation) == observed_hash(service, about.policy);
}

/// Why the Service cannot have that address; empty: it can.
std::string why_not(const Case& about, const Verdict& verdict, const IpAddress& wanted) {
  const auto family = wanted.family();
  if (!about.can.load_balancer_ip) return "cannot be chosen";
  if (std::find(verdict.families.begin(), verdict.families.end(), family) == verdict.families.end())
    return std::string("is ") + name_of(family) + ", which this Service is not served on";
  if (about.place.network != nullptr)
    if (const auto space = about.place.network->find(family); space != about.place.network->end())
      if (auto why = why_not_usable(wanted, space->second); !why.empty()) return why;
  return keeps_another(about, wanted) ? "is held by somebody else" : "";
}

void judge_addresses(const Case& about, Verdict& verdict, Findings& findings) {
  const auto& chosen = about.request.addresses;
  auto problems = chosen.problems;
  for (const auto& [family, address] : chosen.by_family) {
    if (const auto why = why_not(about, verdict, address); why.empty())
      verdict.addresses.emplace(family, address);
    else
      problems.push_back(chosen.field.at(family) + " " + address.text() + " " + why);
  }
  if (problems.empty()) return;
  std::string what;
  for (const auto& problem : problems) what += (what.empty() ? "" : "; ") + problem;
  findings.degradable.push_back(
      {.feature = "LoadBalancerIP",
       .reason = "LoadBalancerIPNotSupported",
       .what = what,
       .instead = "another address is used until the Service is changed",
       .way_out = about.can.load_balancer_ip
                      ? "choose a free address of the docker network, or none"
                      : "choose none or " + able_way_out(about, "LoadBalancerIP")});
}

void judge_traffic_policy(const Case& about, Findings& findings) {
  if (about.service.spec.external_traffic_policy != TrafficPolicy::Local ||
      about.can.preserves_source_ip)
    return;
  findings.degradable.push_back(
      {.feature = "ExternalTrafficPolicy",
       .reason = "ExternalTrafficPolicyNotSupported",
       .what = "spec.externalTrafficPolicy is Local, and a proxy does not preserve the client's "
               "source IP",
       .instead = "Local is honoured for routing, and the annotation kindlb.dev/proxy-protocol "
                  "tells pods who the client is",
       .way_out = "use Cluster if pods need not know the client"});
}

void judge_proxy_protocol(const Case& about, Verdict& verdict) {
  verdict.proxy_protocol = about.request.proxy_protocol;
  if (verdict.proxy_protocol == ProxyProtocol::None) return;
  if (std::any_of(verdict.ports.begin(), verdict.ports.end(),
                  [](const ServicePort& port) { return port.protocol != Protocol::Tcp; }))
    verdict.notes.emplace_back(
        "Annotation kindlb.dev/proxy-protocol is for TCP; the other ports go without.");
}

/// Moves to fatal what the Service requires, or somebody for it.
void refuse_features(const std::set<std::string>& required, const std::string& way_out,
                     Findings& findings) {
  auto& soft = findings.degradable;
  const auto split = std::stable_partition(soft.begin(), soft.end(), [&](const Finding& finding) {
    return !required.contains(finding.feature);
  });
  for (auto finding = split; finding != soft.end(); ++finding) {
    finding->way_out += (finding->way_out.empty() ? "or " : ", or ") + way_out;
    findings.fatal.push_back(std::move(*finding));
  }
  soft.erase(split, soft.end());
}

/// A feature nobody has heard of cannot be had, whatever it may be.
void refuse_unknown(const std::set<std::string>& required, Findings& findings) {
  for (const auto& name : required)
    if (!is_known_feature(name))
      findings.fatal.push_back(
          {.feature = name,
           .reason = "",
           .what = "required load-balancer feature \"" + name + "\" is not known to kindlb",
           .instead = "",
           .way_out = "remove it from the required features"});
}

/// With --strict nothing is degraded but traffic policy Local, where the KEP demands the condition.
void apply_strictness(const Policy& policy, Findings& findings) {
  if (!policy.strict) return;
  std::set<std::string> all(kKnownFeatures.begin(), kKnownFeatures.end());
  all.erase("ExternalTrafficPolicy");
  refuse_features(all, "run kindlb without --strict", findings);
}

std::vector<Reason> told(const std::vector<Finding>& findings, Outcome outcome) {
  std::vector<Reason> out;
  for (const auto& finding : findings) {
    auto message = finding.what;
    if (outcome == Outcome::Degrade) message += "; " + finding.instead;
    if (!finding.way_out.empty()) message += "; " + finding.way_out;
    out.push_back({finding.feature, finding.reason, message + "."});
  }
  return out;
}

void sum_up(const Findings& findings, Verdict& verdict) {
  if (!findings.fatal.empty())
    verdict.outcome = Outcome::Refuse;
  else if (!findings.degradable.empty())
    verdict.outcome = Outcome::Degrade;
  const bool refused = verdict.outcome == Outcome::Refuse;
  verdict.reasons = told(refused ? findings.fatal : findings.degradable, verdict.outcome);
}

}  // namespace

Verdict judge(const Service& service, const ServiceRequest& request, const Policy& policy,
              const Surroundings& surroundings) {
  const Case about{service, request, policy, surroundings, capabilities_for(request, policy)};
  Verdict verdict;
  Findings findings;
  judge_families(about, verdict, findings);
  judge_ports(service, about.can, verdict, findings);
  judge_node_ports(about, verdict, findings);
  judge_affinity(about, verdict, findings);
  judge_ranges(about, verdict, findings);
  judge_addresses(about, verdict, findings);
  judge_traffic_policy(about, findings);
  judge_proxy_protocol(about, verdict);
  refuse_features(request.required, "do not require it", findings);
  refuse_unknown(request.required, findings);
  apply_strictness(policy, findings);
  sum_up(findings, verdict);
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

#include "kindlb/core/verdict.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace kindlb::core {

namespace {

constexpr const char* kRequiredAnnotation = "kindlb.dev/required-load-balancer-features";
constexpr const char* kRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";
constexpr std::array kKnownFeatures = {"IPFamilies",
                                       "Ports",
                                       "SessionAffinity",
                                       "LoadBalancerIP",
                                       "ExternalTrafficPolicy",
                                       "LoadBalancerSourceRanges"};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The union of the spec's list and the annotation's.
std::set<std::string> required_features(const Service& service) {
  std::set<std::string> out(service.spec.required_features.begin(),
                            service.spec.required_features.end());
  const auto annotation = service.annotations.find(kRequiredAnnotation);
  if (annotation == service.annotations.end()) return out;
  std::string_view rest = annotation->second;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    if (const auto name = trimmed(rest.substr(0, comma)); !name.empty()) out.emplace(name);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return out;
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

/// Where the Service asks for source ranges: the annotation counts when the field is empty. Nothing
/// when it does not ask.
std::string source_ranges_wish(const Service& service) {
  if (!service.spec.source_ranges.empty()) return "spec.loadBalancerSourceRanges";
  const auto annotation = service.annotations.find(kRangesAnnotation);
  if (annotation == service.annotations.end() || trimmed(annotation->second).empty()) return {};
  return std::string("annotation ") + kRangesAnnotation;
}

/// Collects reasons; what must be refused whatever the Service requires is kept apart.
struct Findings {
  std::vector<Reason> degradable;
  std::vector<Reason> fatal;
};

/// The way out for a Service none of whose families can be had.
std::string families_advice(const Policy& policy, const Surroundings& place) {
  std::vector<std::string> usable;
  for (const auto family : place.families)
    if (policy.capabilities.families.contains(family)) usable.emplace_back(name_of(family));
  if (usable.empty()) return "use a docker network that has it.";
  return "use " + joined(usable) + ", or a docker network that has it.";
}

void judge_families(const Service& service, const Policy& policy, const Surroundings& place,
                    Verdict& verdict, Findings& findings) {
  auto asked = service.spec.ip_families;
  if (asked.empty()) asked.push_back(IpFamily::V4);
  std::vector<std::string> missing;
  for (const auto family : asked) {
    if (policy.capabilities.families.contains(family) && place.families.contains(family))
      verdict.families.push_back(family);
    else
      missing.emplace_back(name_of(family));
  }
  if (missing.empty()) return;
  const auto what = joined(missing) + " of spec.ipFamilies cannot be provided here";
  if (verdict.families.empty())
    findings.fatal.push_back(
        {"IPFamilies", "IPFamiliesNotSupported", what + "; " + families_advice(policy, place)});
  else
    findings.degradable.push_back(
        {"IPFamilies", "IPFamiliesNotSupported",
         what + "; only " + name_of(verdict.families[0]) + " is served."});
}

void judge_ports(const Service& service, const Policy& policy, Verdict& verdict,
                 Findings& findings) {
  std::vector<std::string> closed;
  for (const auto& port : service.spec.ports) {
    const bool open = policy.capabilities.protocols.contains(port.protocol);
    if (open)
      verdict.ports.push_back(port);
    else
      closed.push_back(std::string(name_of(port.protocol)) + "/" + std::to_string(port.port));
    verdict.port_status.push_back(
        {port.port, port.protocol, open ? "" : "kindlb.dev/PortsNotSupported"});
  }
  if (closed.empty()) return;
  const auto what = "the protocol of " + joined(closed) + " is not supported";
  if (verdict.ports.empty())
    findings.fatal.push_back(
        {"Ports", "PortsNotSupported", what + "; no port of spec.ports could be opened."});
  else
    findings.degradable.push_back(
        {"Ports", "PortsNotSupported", what + "; the other ports are served."});
}

/// Whether or not some are there from before: KEP-4631 wants the refusal for the wish itself.
void judge_node_ports(const Service& service, const Surroundings& place, Findings& findings) {
  if (service.spec.allocate_node_ports || place.direct_path) return;
  findings.fatal.push_back(
      {"NodePorts", "",
       "spec.allocateLoadBalancerNodePorts is false and this kindlb goes through node ports "
       "(--datapath nodeport); remove the field or run with --datapath auto."});
}

void judge_wishes(const Service& service, const Policy& policy, Findings& findings) {
  const auto& spec = service.spec;
  const auto& can = policy.capabilities;
  auto& out = findings.degradable;
  if (spec.affinity == Affinity::ClientIp && !can.session_affinity)
    out.push_back({"SessionAffinity", "SessionAffinityNotSupported",
                   "spec.sessionAffinity ClientIP is not supported; connections of one client may "
                   "reach different endpoints."});
  if (const auto wish = source_ranges_wish(service); !wish.empty() && !can.source_ranges)
    out.push_back({"LoadBalancerSourceRanges", "LoadBalancerSourceRangesNotSupported",
                   wish + " is not supported; connections from everywhere are accepted."});
  if (!spec.load_balancer_ip.empty() && !can.load_balancer_ip)
    out.push_back({"LoadBalancerIP", "LoadBalancerIPNotSupported",
                   "spec.loadBalancerIP " + spec.load_balancer_ip +
                       " cannot be chosen; another address is used."});
  if (spec.external_traffic_policy == TrafficPolicy::Local && !can.preserves_source_ip)
    out.push_back({"ExternalTrafficPolicy", "ExternalTrafficPolicyNotSupported",
                   "spec.externalTrafficPolicy Local is honoured for routing, but a proxy does not "
                   "preserve the client's source IP."});
}

/// Moves to fatal what the Service requires, and adds the features nobody has heard of.
void apply_requirements(const std::set<std::string>& required, Findings& findings) {
  auto& soft = findings.degradable;
  const auto split = std::stable_partition(soft.begin(), soft.end(), [&](const Reason& reason) {
    return !required.contains(reason.feature);
  });
  findings.fatal.insert(findings.fatal.end(), split, soft.end());
  soft.erase(split, soft.end());
  for (const auto& name : required)
    if (std::find(kKnownFeatures.begin(), kKnownFeatures.end(), name) == kKnownFeatures.end())
      findings.fatal.push_back({name, "",
                                "required load-balancer feature \"" + name +
                                    "\" is not known to kindlb; remove it from the required "
                                    "features."});
}

/// With --strict nothing is degraded but traffic policy Local, where the KEP demands the condition.
void apply_strictness(const Policy& policy, Findings& findings) {
  if (!policy.strict) return;
  apply_requirements(
      {"IPFamilies", "Ports", "SessionAffinity", "LoadBalancerIP", "LoadBalancerSourceRanges"},
      findings);
}

}  // namespace

Verdict judge(const Service& service, const Policy& policy, const Surroundings& surroundings) {
  Verdict verdict;
  Findings findings;
  judge_families(service, policy, surroundings, verdict, findings);
  judge_ports(service, policy, verdict, findings);
  judge_node_ports(service, surroundings, findings);
  judge_wishes(service, policy, findings);
  apply_requirements(required_features(service), findings);
  apply_strictness(policy, findings);

  if (!findings.fatal.empty()) {
    verdict.outcome = Outcome::Refuse;
    verdict.reasons = std::move(findings.fatal);
  } else if (!findings.degradable.empty()) {
    verdict.outcome = Outcome::Degrade;
    verdict.reasons = std::move(findings.degradable);
  }
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

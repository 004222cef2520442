#include "kindlb/core/service_request.hpp"

#include "kindlb/base/text.hpp"

#include <algorithm>
#include <limits>

namespace kindlb::core {

namespace {

constexpr std::string_view kPrefix = "kindlb.dev/";
constexpr const char* kRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";
constexpr const char* kAddressesAnnotation = "kindlb.dev/load-balancer-ips";
constexpr std::chrono::hours kLongestDelay{1};

// Every kindlb.dev/ annotation has an entry in known_annotations(), also those that are parsed
// elsewhere: a name without an entry is reported as unknown, which catches spelling mistakes.

/// Parse one annotation into `out`. Return advice if the value is invalid, else nothing.
using ReadAnnotation = std::string (*)(const std::string& value, ServiceRequest& out);

std::string read_required(const std::string& value, ServiceRequest& out) {
  // Unknown names are kept: the verdict refuses them (docs/contract.md §3).
  for (auto& name : base::split_list(value)) out.required.insert(std::move(name));
  return {};
}

std::string read_datapath(const std::string& value, ServiceRequest& out) {
  static const std::map<std::string_view, Datapath> kKnown = {
      {"auto", Datapath::Auto}, {"direct", Datapath::Direct}, {"nodeport", Datapath::NodePort}};
  const auto found = kKnown.find(base::trimmed(value));
  if (found == kKnown.end()) return "use auto, direct or nodeport";
  out.datapath = found->second;
  return {};
}

std::string read_proxy_protocol(const std::string& value, ServiceRequest& out) {
  static const std::map<std::string_view, ProxyProtocol> kKnown = {
      {"none", ProxyProtocol::None}, {"v1", ProxyProtocol::V1}, {"v2", ProxyProtocol::V2}};
  const auto found = kKnown.find(base::trimmed(value));
  if (found == kKnown.end()) return "use v1, v2 or none";
  out.proxy_protocol = found->second;
  return {};
}

std::string read_delay(const std::string& value, ServiceRequest& out) {
  const auto delay = parse_delay(base::trimmed(value));
  if (!delay) return "use a duration such as 20s or 1m30s, at most 1h";
  out.faults.provisioning_delay = *delay;
  return {};
}

std::string read_infrastructure(const std::string& value, ServiceRequest& out) {
  if (base::trimmed(value).empty())
    return "give the message to fail with, such as \"quota exceeded\"";
  out.faults.infrastructure = std::string(base::trimmed(value));
  return {};
}

std::string read_unsupported(const std::string& value, ServiceRequest& out) {
  std::set<std::string> named;
  for (auto& name : base::split_list(value)) named.insert(std::move(name));
  const bool good = !named.empty() && std::all_of(named.begin(), named.end(), is_known_feature);
  if (!good) return "list one or more of " + base::joined(kKnownFeatures);
  out.faults.unsupported = std::move(named);
  return {};
}

std::string read_interrupt(const std::string& value, ServiceRequest& out) {
  const auto word = base::trimmed(value);
  if (word != "true" && word != "false") return "use \"true\" or \"false\"";
  out.faults.interrupt_on_update = word == "true";
  return {};
}

/// Known, but parsed elsewhere (read_addresses) or not a request at all (kindlb.dev/observed).
std::string read_nothing(const std::string&, ServiceRequest&) {
  return {};
}

const std::map<std::string_view, ReadAnnotation>& known_annotations() {
  static const std::map<std::string_view, ReadAnnotation> kKnown = {
      {"kindlb.dev/datapath", read_datapath},
      {"kindlb.dev/fault-infrastructure", read_infrastructure},
      {"kindlb.dev/fault-interrupt-on-update", read_interrupt},
      {"kindlb.dev/fault-provisioning-delay", read_delay},
      {"kindlb.dev/fault-unsupported", read_unsupported},
      {kAddressesAnnotation, read_nothing},
      {kObservedAnnotation, read_nothing},
      {"kindlb.dev/proxy-protocol", read_proxy_protocol},
      {"kindlb.dev/required-load-balancer-features", read_required}};
  return kKnown;
}

void read_annotations(const Service& service, ServiceRequest& out) {
  for (const auto& [name, value] : service.annotations) {
    if (!std::string_view(name).starts_with(kPrefix)) continue;
    const auto known = known_annotations().find(name);
    if (known == known_annotations().end()) {
      out.mistakes.push_back("Annotation " + name +
                             " is unknown and is ignored; check its spelling.");
      continue;
    }
    if (const auto advice = known->second(value, out); !advice.empty())
      out.mistakes.push_back("Annotation " + name + " has the invalid value \"" + value +
                             "\" and is ignored: " + advice + ".");
  }
}

/// The annotation counts only when the field is empty (docs/contract.md §4).
SourceRanges read_ranges(const Service& service) {
  SourceRanges out;
  auto entries = service.spec.source_ranges;
  if (!entries.empty()) {
    out.field = "spec.loadBalancerSourceRanges";
  } else if (const auto found = service.annotations.find(kRangesAnnotation);
             found != service.annotations.end() && !base::trimmed(found->second).empty()) {
    out.field = std::string("annotation ") + kRangesAnnotation;
    entries = base::split_list(found->second);
  }
  for (const auto& entry : entries) {
    if (const auto range = Cidr::parse(base::trimmed(entry)))
      out.ranges.push_back({range->first(), range->length});
    else
      out.unreadable.emplace_back(base::trimmed(entry));
  }
  std::sort(out.ranges.begin(), out.ranges.end());
  out.ranges.erase(std::unique(out.ranges.begin(), out.ranges.end()), out.ranges.end());
  return out;
}

void choose(ChosenAddresses& out, const std::string& field, const std::string& text) {
  const auto address = IpAddress::parse(text);
  if (!address) {
    out.problems.push_back(field + " " + text + " is not an IP address");
    return;
  }
  const auto family = address->family();
  if (out.by_family.emplace(family, *address).second)
    out.field[family] = field;
  else if (out.field[family] == field && out.by_family.at(family) != *address)
    out.problems.push_back(field + " " + text + " is a second " + name_of(family) + " address");
}

/// The annotation takes precedence: unlike the deprecated spec.loadBalancerIP it can name an
/// address for each family.
ChosenAddresses read_addresses(const Service& service) {
  ChosenAddresses out;
  if (const auto found = service.annotations.find(kAddressesAnnotation);
      found != service.annotations.end())
    for (const auto& item : base::split_list(found->second))
      choose(out, std::string("annotation ") + kAddressesAnnotation, item);
  if (const auto requested = base::trimmed(service.spec.load_balancer_ip); !requested.empty())
    choose(out, "spec.loadBalancerIP", std::string(requested));
  return out;
}

std::optional<std::chrono::milliseconds> unit_of(std::string_view name) {
  if (name == "ms") return std::chrono::milliseconds(1);
  if (name == "s") return std::chrono::seconds(1);
  if (name == "m") return std::chrono::minutes(1);
  if (name == "h") return std::chrono::hours(1);
  return std::nullopt;
}

}  // namespace

bool is_known_feature(std::string_view name) {
  return std::find(kKnownFeatures.begin(), kKnownFeatures.end(), name) != kKnownFeatures.end();
}

std::vector<Cidr> SourceRanges::of(IpFamily family) const {
  std::vector<Cidr> out;
  for (const auto& range : ranges)
    if (range.address.family() == family) out.push_back(range);
  return out;
}

ServiceRequest request_of(const Service& service) {
  ServiceRequest out;
  out.required.insert(service.spec.required_features.begin(), service.spec.required_features.end());
  read_annotations(service, out);
  out.ranges = read_ranges(service);
  out.addresses = read_addresses(service);
  return out;
}

std::optional<std::chrono::milliseconds> parse_delay(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::size_t kMostDigits = 7;  // more than an hour has in milliseconds
  std::chrono::milliseconds out{0};
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto digits = std::min(text.find_first_not_of(kDigits), text.size());
    const auto rest = text.substr(digits);
    const auto letters = std::min(rest.find_first_of(kDigits), rest.size());
    const auto unit = unit_of(rest.substr(0, letters));
    if (digits == 0 || digits > kMostDigits || !unit) return std::nullopt;
    out += std::stol(std::string(text.substr(0, digits))) * *unit;
    text = rest.substr(letters);
  }
  return out > kLongestDelay ? std::nullopt : std::optional(out);
}

Datapath datapath_for(const ServiceRequest& request, const Policy& policy) {
  if (!policy.capabilities.direct_path) return Datapath::NodePort;
  return request.datapath.value_or(policy.datapath);
}

}  // namespace kindlb::core

#include "kindlb/profile/profile.hpp"

#include "kindlb/core/assert.hpp"
#include "kindlb/core/embedded_file.hpp"
#include "kindlb/yaml/fields.hpp"
#include "kindlb/yaml/file.hpp"
#include "kindlb/yaml/node.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace kindlb::profile {

std::span<const core::EmbeddedFile> embedded_profiles();  // generated

namespace {

using core::Capabilities;
using core::MixedProtocols;
using core::Protocol;
using core::Result;
using yaml::Fields;

constexpr std::initializer_list<std::pair<const char*, Protocol>> kProtocols = {
    {"TCP", Protocol::Tcp}, {"UDP", Protocol::Udp}, {"SCTP", Protocol::Sctp}};
constexpr std::initializer_list<std::pair<const char*, core::IpFamily>> kFamilies = {
    {"IPv4", core::IpFamily::V4}, {"IPv6", core::IpFamily::V6}};

/// Replace `target`, the default capabilities, by a subset of it.
template <typename E>
void read_set(Fields& fields, const char* key,
              std::initializer_list<std::pair<const char*, E>> names, std::set<E>& target) {
  const auto list = fields.list(key);
  if (!list) return;
  std::set<E> chosen;
  for (const auto* const node : *list) {
    const auto value = fields.choice<E>(*node, names);
    if (!value) return;
    if (!target.contains(*value))
      fields.complain(
          *node,
          "a profile can only remove capabilities: kindlb itself does not support " + node->text);
    chosen.insert(*value);
  }
  if (chosen.empty()) fields.complain(*fields.find(key), "'" + std::string(key) + "' is empty");
  target = std::move(chosen);
}

/// As read_set: a flag can be switched off, not on.
void read_flag(Fields& fields, const char* key, bool& target) {
  const auto value = fields.flag(key);
  if (!value) return;
  if (*value && !target)
    fields.complain(
        *fields.find(key),
        "a profile can only remove capabilities: kindlb itself has no " + std::string(key));
  target = *value;
}

void read_mixing(Fields& fields, Capabilities& out) {
  if (const auto* const node = fields.find("mixedProtocols"))
    out.mixed_protocols =
        fields
            .choice<MixedProtocols>(*node, {{"any", MixedProtocols::Any},
                                            {"distinct-ports", MixedProtocols::DistinctPorts},
                                            {"none", MixedProtocols::None}})
            .value_or(out.mixed_protocols);
  out.mixed_protocols_annotation = fields.text("mixedProtocolsAnnotation").value_or("");
}

/// Start from kindlb's own capabilities: what a profile does not mention is supported.
Capabilities read_capabilities(const yaml::Node& node, yaml::Faults& faults) {
  Capabilities out;
  Fields fields(node, faults);
  read_set<Protocol>(fields, "protocols", kProtocols, out.protocols);
  read_mixing(fields, out);
  read_set<core::IpFamily>(fields, "ipFamilies", kFamilies, out.families);
  read_flag(fields, "dualStack", out.dual_stack);
  read_flag(fields, "severalPorts", out.several_ports);
  read_flag(fields, "directPath", out.direct_path);
  read_flag(fields, "sessionAffinity", out.session_affinity);
  read_flag(fields, "sourceRanges", out.source_ranges);
  read_flag(fields, "loadBalancerIP", out.load_balancer_ip);
  read_flag(fields, "preservesSourceIP", out.preserves_source_ip);
  return out;
}

Profile read_profile(const yaml::Node& node, yaml::Faults& faults) {
  Profile out;
  Fields fields(node, faults);
  out.name = fields.required("name");
  out.summary = fields.required("summary");
  out.source = fields.text("source").value_or("");
  if (const auto* const capabilities = fields.find("capabilities"))
    out.capabilities = read_capabilities(*capabilities, faults);
  return out;
}

/// A broken embedded profile is a bug that the tests find, hence the assertion.
std::vector<Profile> read_embedded() {
  std::vector<Profile> out;
  for (const auto& file : embedded_profiles()) {
    auto profile = parse_profile(std::string(file.text), std::string(file.name));
    KINDLB_ASSERT(profile.ok());
    out.push_back(std::move(*profile));
  }
  return out;
}

/// A name never contains a slash or an extension, so the two cannot be confused.
bool looks_like_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

}  // namespace

Result<Profile> parse_profile(const std::string& yaml, const std::string& file) {
  const auto documents = yaml::parse(yaml, file);
  if (!documents.ok()) return documents.error();
  if (documents->size() != 1)
    return yaml::fault(file, {},
                       "a profile must be a single YAML document; this file has " +
                           std::to_string(documents->size()));
  yaml::Faults faults;
  auto profile = read_profile(documents->front(), faults);
  if (!faults.none()) return faults.error(file);
  return profile;
}

const std::vector<Profile>& all_profiles() {
  static const auto kProfiles = read_embedded();
  return kProfiles;
}

Result<Profile> find_profile(const std::string& name) {
  const auto& all = all_profiles();
  const auto found = std::ranges::find(all, name, &Profile::name);
  if (found != all.end()) return *found;
  std::string known;
  for (const auto& profile : all) known += (known.empty() ? "" : ", ") + profile.name;
  return core::Error{core::ErrorKind::NotFound, "there is no profile '" + name + "'",
                     "use one of " + known + ", or the path of a profile file"};
}

Result<Profile> load_profile(const std::string& name) {
  if (!looks_like_path(name)) return find_profile(name);
  const auto text = yaml::read_file(name);
  if (!text.ok()) return text.error();
  return parse_profile(*text, name);
}

std::string list_profiles() {
  std::size_t name_width = 0;
  std::size_t summary_width = 0;
  for (const auto& profile : all_profiles()) {
    name_width = std::max(name_width, profile.name.size());
    summary_width = std::max(summary_width, profile.summary.size());
  }
  std::string out;
  for (const auto& profile : all_profiles())
    out += profile.name + std::string(name_width + 2 - profile.name.size(), ' ') + profile.summary +
           std::string(summary_width + 2 - profile.summary.size(), ' ') + profile.source + "\n";
  return out;
}

}  // namespace kindlb::profile

#include "verbs/selectors.hpp"

#include "kindlb/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kindlb::apiserver {

namespace {
/// Split at commas outside parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      out.push_back(base::trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return out;
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= 317 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
         });
}

const std::string* label(const Json& labels, const std::string& key) {
  if (!labels.is_object()) return nullptr;
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : found->get_ptr<const std::string*>();
}

/// The fields that kube-apiserver registers for selection, by resource.
std::vector<std::string> selectable(const Resource& resource) {
  std::vector<std::string> fields{"metadata.name", "metadata.namespace"};
  const std::map<std::string, std::vector<std::string>> more{
      {"services", {"spec.clusterIP", "spec.type"}},
      {"namespaces", {"status.phase"}},
      {"nodes", {"spec.unschedulable"}},
      {"pods",
       {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"}},
      {"events",
       {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
        "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
        "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"}}};
  const auto found = more.find(resource.plural);
  if (found != more.end()) fields.insert(fields.end(), found->second.begin(), found->second.end());
  return fields;
}

std::vector<std::string> steps(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('.', begin), path.size());
    out.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// Fields that are absent select as the empty string.
std::string value_of(const Json& object, const std::vector<std::string>& path) {
  const Json* node = &object;
  for (const auto& key : path) {
    if (!node->is_object() || !node->contains(key)) return {};
    node = &(*node)[key];
  }
  if (node->is_string()) return node->get<std::string>();
  // An event's "source" selects by its component.
  if (node->is_object()) return text_at(*node, {"component"});
  return node->is_null() ? std::string() : dump(*node);
}
}  // namespace

/// The grammar of k8s.io/apimachinery/pkg/labels, without < and >:
///   KEY in (A,B) | KEY notin (A,B) | KEY=A | KEY==A | KEY!=A | KEY | !KEY
ApiResult<LabelSelector::Requirement> LabelSelector::parse_one(std::string_view text) {
  const auto refuse = [&] {
    return bad_request(fmt::format("unable to parse requirement: '{}'", text));
  };
  Requirement out;
  if (const auto open = text.find('('); open != std::string_view::npos) {
    if (text.back() != ')') return refuse();
    auto head = base::trimmed(text.substr(0, open));
    const auto space = head.find_last_of(" \t");
    if (space == std::string_view::npos) return refuse();
    const auto word = head.substr(space + 1);
    if (word != "in" && word != "notin") return refuse();
    out.op = word == "in" ? Operator::In : Operator::NotIn;
    out.key = base::trimmed(head.substr(0, space));
    for (const auto value : split(text.substr(open + 1, text.size() - open - 2)))
      out.values.emplace_back(value);
  } else if (text.starts_with('!')) {
    out.op = Operator::Absent;
    out.key = base::trimmed(text.substr(1));
  } else if (const auto equals = text.find('='); equals != std::string_view::npos) {
    const bool negated = equals > 0 && text[equals - 1] == '!';
    out.op = negated ? Operator::NotIn : Operator::In;
    out.key = base::trimmed(text.substr(0, negated ? equals - 1 : equals));
    auto value = text.substr(equals + 1);
    if (value.starts_with('=')) value.remove_prefix(1);
    if (const auto odd = value.find_first_of("=!<>()"); odd != std::string_view::npos)
      return bad_request(
          fmt::format("unable to parse requirement: found '{}', expected: identifier", value[odd]));
    out.values.emplace_back(base::trimmed(value));
  } else {
    out.key = text;
  }
  if (!is_key(out.key)) return refuse();
  return out;
}

ApiResult<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector out;
  if (base::trimmed(text).empty()) return out;
  for (const auto part : split(text)) {
    auto requirement = parse_one(part);
    if (!requirement) return requirement.error();
    out.requirements_.push_back(std::move(*requirement));
  }
  return out;
}

LabelSelector LabelSelector::of_map(const Json& labels) {
  LabelSelector out;
  for (const auto& [key, value] : labels.items())
    if (value.is_string())
      out.requirements_.push_back({key, Operator::In, {value.get<std::string>()}});
  return out;
}

bool LabelSelector::holds(const Requirement& requirement, const Json& labels) {
  const auto* value = label(labels, requirement.key);
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::In:
      return value != nullptr && listed();
    // As in Kubernetes: an absent label satisfies != and notin.
    case Operator::NotIn:
      return value == nullptr || !listed();
    case Operator::Exists:
      return value != nullptr;
    case Operator::Absent:
      return value == nullptr;
  }
  return false;
}

bool LabelSelector::matches(const Json& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const auto& requirement) { return holds(requirement, labels); });
}

ApiResult<FieldSelector> FieldSelector::parse(std::string_view text, const Resource& resource) {
  FieldSelector out;
  if (base::trimmed(text).empty()) return out;
  const auto known = selectable(resource);
  for (const auto part : split(text)) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part));
    const bool negated = part[equals - 1] == '!';
    const std::string field(part.substr(0, negated ? equals - 1 : equals));
    auto value = part.substr(equals + 1);
    if (value.starts_with('=')) value.remove_prefix(1);
    if (std::find(known.begin(), known.end(), field) == known.end())
      return bad_request("field label not supported: " + field);
    out.terms_.push_back({steps(field), std::string(value), !negated});
  }
  return out;
}

bool FieldSelector::matches(const Json& object) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return (value_of(object, term.path) == term.value) == term.equal;
  });
}

}  // namespace kindlb::apiserver

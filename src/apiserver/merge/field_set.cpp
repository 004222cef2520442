#include "merge/field_set.hpp"

#include <algorithm>

namespace kindlb::apiserver {

namespace {
using Kind = Shape::Kind;
using ListType = Shape::ListType;

/// Empty subsets are not stored, so that equal sets have equal trees.
void keep(FieldSet& set, const std::string& step, FieldSet child) {
  if (!child.empty()) set.children[step] = std::move(child);
}

std::string default_of(const Shape& list, const std::string& key) {
  if (!list.element || list.element->type == nullptr) return {};
  const auto* field = list.element->type->field(key);
  return field == nullptr ? std::string() : field->default_value;
}

/// Depth first, in the order of the path elements, as conflicts list them.
void collect(const FieldSet& set, const std::string& path, std::vector<std::string>& out) {
  if (set.member) out.push_back(path);
  for (const auto& [step, child] : set.children) {
    const auto rest = step.substr(2);
    if (step.starts_with("f:")) {
      collect(child, path + "." + rest, out);
    } else if (step.starts_with("k:")) {
      const auto key = parse_bounded(rest);
      std::string inner;
      if (key.is_object())
        for (const auto& [name, value] : key.items())
          inner += (inner.empty() ? "" : ",") + name + "=" + dump(value);
      collect(child, path + "[" + inner + "]", out);
    } else {
      collect(child, path + "[=" + rest + "]", out);
    }
  }
}

/// Whether a value of this shape has one owner as a whole: scalars and what is atomic.
bool is_leaf(const Json& value, const Shape& shape) {
  if (shape.kind == Kind::Struct) return !value.is_object();
  if (shape.kind == Kind::Map) return shape.atomic_map || !value.is_object();
  if (shape.kind == Kind::List) return shape.list_type == ListType::Atomic || !value.is_array();
  if (shape.kind == Kind::Any) return !value.is_object();
  return true;
}

/// The direct children of a value by path element, each with its shape.
struct Part {
  const Json* value;
  const Shape* shape;
};
std::map<std::string, Part> parts_of(const Json& value, const Shape& shape) {
  std::map<std::string, Part> out;
  if (value.is_object()) {
    for (const auto& [key, item] : value.items())
      out["f:" + key] = {&item, &shape_below(shape, key)};
  } else if (value.is_array()) {
    for (const auto& item : value) out[path_element(item, shape)] = {&item, shape.element.get()};
  }
  return out;
}

/// What can be a member beside its children: maps, lists, and structs behind a pointer in the Go
/// types, since these can be absent.
bool is_container(const Shape& shape) {
  if (shape.kind == Kind::Struct)
    return shape.type->name == "SessionAffinityConfig" || shape.type->name == "ClientIPConfig";
  return shape.kind == Kind::Map || shape.kind == Kind::List;
}
}  // namespace

// The three operations work path by path: membership of a path is independent of its children.
FieldSet set_union(const FieldSet& a, const FieldSet& b) {
  FieldSet out = a;
  out.member = a.member || b.member;
  for (const auto& [step, child] : b.children)
    out.children[step] = set_union(out.children[step], child);
  return out;
}

FieldSet set_difference(const FieldSet& from, const FieldSet& what) {
  FieldSet out;
  out.member = from.member && !what.member;
  for (const auto& [step, child] : from.children) {
    const auto found = what.children.find(step);
    keep(out, step, found == what.children.end() ? child : set_difference(child, found->second));
  }
  return out;
}

FieldSet set_intersection(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.member = a.member && b.member;
  for (const auto& [step, child] : a.children) {
    const auto found = b.children.find(step);
    if (found != b.children.end()) keep(out, step, set_intersection(child, found->second));
  }
  return out;
}

Json to_fields_v1(const FieldSet& set) {
  Json out = Json::object();
  // A leaf is written as {}: "." is needed only where children would hide the membership.
  if (set.member && !set.children.empty()) out["."] = Json::object();
  for (const auto& [step, child] : set.children) out[step] = to_fields_v1(child);
  return out;
}

FieldSet from_fields_v1(const Json& json) {
  FieldSet out;
  if (!json.is_object()) return out;
  out.member = json.empty() || json.contains(".");
  for (const auto& [step, child] : json.items())
    if (step.size() > 2 && step[1] == ':') out.children[step] = from_fields_v1(child);
  return out;
}

std::vector<std::string> paths_of(const FieldSet& set) {
  std::vector<std::string> out;
  collect(set, "", out);
  return out;
}

std::string path_element(const Json& element, const Shape& list) {
  if (list.list_type != ListType::Map) return "v:" + dump(element);
  Json key = Json::object();
  for (const auto& name : list.keys) {
    const auto* value = find(element, {name.c_str()});
    if (value != nullptr)
      key[name] = *value;
    else if (const auto default_value = default_of(list, name); !default_value.empty())
      key[name] = default_value;
  }
  return "k:" + dump(key);
}

FieldSet fields_of(const Json& value, const Shape& shape, bool containers) {
  FieldSet out;
  const auto parts = parts_of(value, shape);
  // An empty map or list is a leaf: otherwise no manager would own it, and no apply could remove
  // it.
  if (is_leaf(value, shape) || parts.empty()) {
    out.member = true;
    return out;
  }
  out.member = containers && is_container(shape);
  for (const auto& [step, part] : parts) {
    auto child = fields_of(*part.value, *part.shape, containers);
    // An element of a list of type map is owned itself, beside its fields: the owner of any field
    // keeps the element alive.
    if (step.starts_with("k:")) child.member = true;
    keep(out, step, std::move(child));
  }
  return out;
}

Comparison compare(const Json& before, const Json& after, const Shape& shape) {
  Comparison out;
  if (before == after) return out;
  // Values differ, and at least one of them cannot be compared further.
  if (is_leaf(before, shape) || is_leaf(after, shape)) {
    out.changed = fields_of(after, shape, true);
    return out;
  }
  const auto old_parts = parts_of(before, shape);
  const auto new_parts = parts_of(after, shape);
  for (const auto& [step, part] : new_parts) {
    const auto old = old_parts.find(step);
    if (old == old_parts.end()) {
      auto all = fields_of(*part.value, *part.shape, true);
      if (step.starts_with("k:")) all.member = true;
      keep(out.changed, step, std::move(all));
      continue;
    }
    auto below = compare(*old->second.value, *part.value, *part.shape);
    keep(out.changed, step, std::move(below.changed));
    keep(out.removed, step, std::move(below.removed));
  }
  for (const auto& [step, part] : old_parts) {
    if (new_parts.count(step) != 0) continue;
    auto all = fields_of(*part.value, *part.shape, true);
    all.member = true;
    keep(out.removed, step, std::move(all));
  }
  return out;
}

}  // namespace kindlb::apiserver

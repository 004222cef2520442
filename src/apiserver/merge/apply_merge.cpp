#include "merge/apply_merge.hpp"

#include <string>
#include <unordered_map>

namespace kindlb::apiserver {

namespace {
using Kind = Shape::Kind;
using ListType = Shape::ListType;

/// Live elements keep their order; elements that only `config` has are appended.
Json merge_list(const Json& live, const Json& config, const Shape& shape) {
  Json out = live;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < out.size(); ++i) places.try_emplace(path_element(out[i], shape), i);
  for (const auto& item : config) {
    const auto [place, is_new] = places.try_emplace(path_element(item, shape), out.size());
    if (is_new)
      out.push_back(item);
    else
      out[place->second] = merge_typed(out[place->second], item, *shape.element);
  }
  return out;
}

Json merge_object(const Json& live, const Json& config, const Shape& shape) {
  Json out = live;
  for (const auto& [key, value] : config.items()) {
    const auto found = out.find(key);
    if (found == out.end())
      out[key] = value;
    else
      *found = merge_typed(*found, value, shape_below(shape, key));
  }
  return out;
}

/// Whether a value goes as a whole: no other manager owns it or anything in it.
bool is_removed(const FieldSet& removed, const FieldSet* kept) {
  return removed.member && (kept == nullptr || kept->empty());
}

const FieldSet* below(const FieldSet& set, const std::string& step) {
  const auto found = set.children.find(step);
  return found == set.children.end() ? nullptr : &found->second;
}

const FieldSet& or_none(const FieldSet* set) {
  static const FieldSet kNone;
  return set == nullptr ? kNone : *set;
}

void remove_from_object(Json& value, const Shape& shape, const FieldSet& removed,
                        const FieldSet& kept) {
  for (const auto& [step, child] : removed.children) {
    if (!step.starts_with("f:")) continue;
    const auto key = step.substr(2);
    const auto found = value.find(key);
    if (found == value.end()) continue;
    const auto* rest = below(kept, step);
    if (is_removed(child, rest))
      value.erase(found);
    else
      remove_fields(*found, shape_below(shape, key), child, or_none(rest));
    // No manager owns the container itself, so it goes with its last element.
    const auto left = value.find(key);
    if (rest == nullptr && left != value.end() && left->is_structured() && left->empty())
      value.erase(left);
  }
}

/// Rebuilds the list, since removing elements one by one would be quadratic.
void remove_from_list(Json& value, const Shape& shape, const FieldSet& removed,
                      const FieldSet& kept) {
  Json out = Json::array();
  for (auto& item : value) {
    const auto step = path_element(item, shape);
    const auto* child = below(removed, step);
    const auto* rest = below(kept, step);
    if (child != nullptr && is_removed(*child, rest)) continue;
    if (child != nullptr) remove_fields(item, *shape.element, *child, or_none(rest));
    out.push_back(std::move(item));
  }
  value = std::move(out);
}
}  // namespace

Json merge_typed(const Json& live, const Json& config, const Shape& shape) {
  // The type of the schema decides, not that of the values: a map whose type is atomic is replaced
  // even if both sides are objects.
  const bool atomic = (shape.kind == Kind::Map && shape.atomic_map) ||
                      (shape.kind == Kind::List && shape.list_type == ListType::Atomic);
  if (atomic) return config;
  if (live.is_object() && config.is_object()) return merge_object(live, config, shape);
  if (live.is_array() && config.is_array() && shape.kind == Kind::List)
    return merge_list(live, config, shape);
  return config;
}

void remove_fields(Json& value, const Shape& shape, const FieldSet& removed, const FieldSet& kept) {
  if (value.is_object())
    remove_from_object(value, shape, removed, kept);
  else if (value.is_array() && shape.kind == Kind::List)
    remove_from_list(value, shape, removed, kept);
}

}  // namespace kindlb::apiserver

#include "sandbox/patch.hpp"

#include <algorithm>

namespace kindlb::sandbox {

namespace {
using Kind = Shape::Kind;

constexpr std::size_t kMaxOperations = 10'000;
constexpr const char* kDirective = "$patch";
constexpr std::string_view kOrder = "$setElementOrder/";
constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";

const Shape& any_shape() {
  static const Shape kAny;
  return kAny;
}

const Shape& shape_below(const Shape& shape, const std::string& key) {
  if (shape.kind == Kind::Map) return *shape.element;
  if (shape.kind != Kind::Struct) return any_shape();
  const auto* field = shape.type->field(key);
  return field == nullptr ? any_shape() : field->shape;
}

Json merge_object(const Json& target, const Json& patch, const Shape& shape);

/// Directives mean nothing in what is taken over as a whole.
Json without_directives(const Json& value) {
  if (value.is_array()) {
    Json out = Json::array();
    for (const auto& item : value)
      if (text_at(item, {kDirective}) != "delete") out.push_back(without_directives(item));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, item] : value.items())
    if (!key.starts_with('$') && !item.is_null()) out[key] = without_directives(item);
  return out;
}

Json::iterator same_key(Json& list, const Json& item, const std::string& key) {
  const auto* wanted = find(item, {key.c_str()});
  return std::find_if(list.begin(), list.end(), [&](const Json& other) {
    const auto* value = find(other, {key.c_str()});
    return wanted != nullptr && value != nullptr && *value == *wanted;
  });
}

void merge_element(Json& list, const Json& item, const Shape& shape) {
  const auto found = same_key(list, item, shape.merge_key);
  const auto directive = text_at(item, {kDirective});
  if (directive == "delete") {
    // A port may occur twice, for TCP and UDP: deleting by key takes every one of them.
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const Json& other) {
                                const auto* a = find(other, {shape.merge_key.c_str()});
                                const auto* b = find(item, {shape.merge_key.c_str()});
                                return a != nullptr && b != nullptr && *a == *b;
                              }),
               list.end());
  } else if (found == list.end()) {
    list.push_back(without_directives(item));
  } else {
    *found = directive == "replace" ? without_directives(item)
                                    : merge_object(*found, item, *shape.element);
  }
}

Json merge_list(const Json& target, const Json& patch, const Shape& shape) {
  const bool replaces = std::any_of(patch.begin(), patch.end(), [](const Json& item) {
    return text_at(item, {kDirective}) == "replace" && item.size() == 1;
  });
  if (replaces) {
    Json out = Json::array();
    for (const auto& item : patch)
      if (find(item, {kDirective}) == nullptr) out.push_back(item);
    return out;
  }
  Json out = target;
  for (const auto& item : patch) {
    if (!shape.merge_key.empty()) {
      merge_element(out, item, shape);
    } else if (std::find(out.begin(), out.end(), item) == out.end()) {
      out.push_back(item);
    }
  }
  return out;
}

/// Elements named in `order` first and in that order; the rest behind them.
void reorder(Json& list, const Json& order, const Shape& shape) {
  const auto rank = [&](const Json& element) {
    const auto key = shape.merge_key;
    const auto found = std::find_if(order.begin(), order.end(), [&](const Json& wanted) {
      if (key.empty()) return wanted == element;
      const auto* a = find(wanted, {key.c_str()});
      const auto* b = find(element, {key.c_str()});
      return a != nullptr && b != nullptr && *a == *b;
    });
    return found - order.begin();
  };
  std::vector<Json> items(list.begin(), list.end());
  std::stable_sort(items.begin(), items.end(),
                   [&](const Json& a, const Json& b) { return rank(a) < rank(b); });
  list = items;
}

void retain(Json& object, const Json& keys) {
  Json out = Json::object();
  for (const auto& [key, value] : object.items())
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) out[key] = value;
  object = std::move(out);
}

void merge_field(Json& out, const std::string& key, const Json& value, const Shape& shape) {
  if (value.is_null()) {
    out.erase(key);
    return;
  }
  const auto current = out.find(key);
  if (current == out.end()) {
    out[key] = without_directives(value);
  } else if (value.is_object() && current->is_object()) {
    *current = merge_object(*current, value, shape);
  } else if (value.is_array() && current->is_array() && shape.merges) {
    *current = merge_list(*current, value, shape);
  } else {
    *current = without_directives(value);
  }
}

void delete_values(Json& out, const std::string& key, const Json& values) {
  const auto list = out.find(key);
  if (list == out.end() || !list->is_array() || !values.is_array()) return;
  list->erase(std::remove_if(list->begin(), list->end(),
                             [&](const Json& item) {
                               return std::find(values.begin(), values.end(), item) != values.end();
                             }),
              list->end());
}

Json merge_object(const Json& target, const Json& patch, const Shape& shape) {
  const auto directive = text_at(patch, {kDirective});
  if (directive == "replace") return without_directives(patch);
  if (directive == "delete") return Json::object();
  Json out = target;
  if (const auto* keys = find(patch, {"$retainKeys"}); keys != nullptr && keys->is_array())
    retain(out, *keys);
  for (const auto& [key, value] : patch.items())
    if (key.starts_with(kDelete)) delete_values(out, key.substr(kDelete.size()), value);
  for (const auto& [key, value] : patch.items())
    if (!key.starts_with('$')) merge_field(out, key, value, shape_below(shape, key));
  for (const auto& [key, value] : patch.items()) {
    if (!key.starts_with(kOrder) || !value.is_array()) continue;
    const auto list = key.substr(kOrder.size());
    const auto found = out.find(list);
    if (found != out.end() && found->is_array()) reorder(*found, value, shape_below(shape, list));
  }
  return out;
}
}  // namespace

Outcome<Json> json_patched(const Json& object, const Json& patch) {
  if (!patch.is_array()) return bad_request("a JSON patch is a list of operations");
  if (patch.size() > kMaxOperations)
    return Refusal{.code = 413,
                   .reason = "RequestEntityTooLarge",
                   .message = "The allowed maximum operations in a JSON patch is 10000"};
  try {
    return object.patch(patch);
  } catch (const Json::exception& error) {  // the library has no other way to say it
    return Refusal{.code = 422,
                   .reason = "Invalid",
                   .message = std::string("the server rejected our request due to an error in our "
                                          "request: ") +
                              error.what()};
  }
}

Outcome<Json> merge_patched(const Json& object, const Json& patch) {
  if (!patch.is_object()) return bad_request("a merge patch is an object");
  Json out = object;
  out.merge_patch(patch);
  return out;
}

Outcome<Json> strategic_patched(const Json& object, const Json& patch, const Shape& shape) {
  if (!patch.is_object()) return bad_request("a strategic merge patch is an object");
  return merge_object(object, patch, shape);
}

}  // namespace kindlb::sandbox

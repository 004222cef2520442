#include "merge/patch.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kindlb::apiserver {

namespace {
/// kube-apiserver's limit.
constexpr std::size_t kMaxOperations = 10'000;
/// The bytes that "copy" operations may add: each can double the object.
constexpr std::size_t kMaxCopied = std::size_t{3} << 20U;
constexpr const char* kDirective = "$patch";
constexpr std::string_view kOrder = "$setElementOrder/";
constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";

Json patch_object(const Json& target, const Json& patch, const Shape& shape);

/// Strip directives from a value that replaces instead of merging.
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

/// What identifies an element of a list: its merge key or, without one, its value. Empty: it lacks
/// the key and matches no other element.
std::string element_identity(const Json& element, const Shape& shape) {
  if (shape.merge_key.empty()) return dump(element);
  const auto* key = find(element, {shape.merge_key.c_str()});
  return key == nullptr ? std::string() : dump(*key);
}

/// Positions of elements by identity, since a patch may name thousands. The first of duplicates
/// wins.
class ElementIndex {
 public:
  ElementIndex(const Json& list, const Shape& shape) {
    for (std::size_t i = 0; i < list.size(); ++i) add(element_identity(list[i], shape), i);
  }
  void add(const std::string& id, std::size_t index) {
    if (!id.empty()) index_.try_emplace(id, index);
  }
  std::optional<std::size_t> find(const std::string& id) const {
    const auto found = index_.find(id);
    if (found == index_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> index_;
};

/// The merge key of ports is `port` alone, which TCP and UDP can share: a deletion removes both.
void delete_elements(Json& list, const std::set<std::string>& removed, const Shape& shape) {
  if (removed.empty()) return;
  Json out = Json::array();
  for (auto& item : list)
    if (removed.count(element_identity(item, shape)) == 0) out.push_back(std::move(item));
  list = std::move(out);
}

Json replaced_list(const Json& patch) {
  Json out = Json::array();
  for (const auto& item : patch)
    if (find(item, {kDirective}) == nullptr) out.push_back(item);
  return out;
}

Json patch_list(const Json& target, const Json& patch, const Shape& shape) {
  // An element {"$patch": "replace"} makes the rest of the patch the new list.
  const bool replaces = std::any_of(patch.begin(), patch.end(), [](const Json& item) {
    return text_at(item, {kDirective}) == "replace" && item.size() == 1;
  });
  if (replaces) return replaced_list(patch);
  Json out = target;
  std::set<std::string> removed;
  for (const auto& item : patch)
    if (text_at(item, {kDirective}) == "delete") removed.insert(element_identity(item, shape));
  removed.erase("");
  // Deletions first: an element that is deleted and listed again is replaced, not merged.
  delete_elements(out, removed, shape);
  ElementIndex places(out, shape);
  for (const auto& item : patch) {
    const auto directive = text_at(item, {kDirective});
    if (directive == "delete") continue;
    const auto id = element_identity(item, shape);
    const auto place = places.find(id);
    if (!place) {
      places.add(id, out.size());
      out.push_back(without_directives(item));
      // Without a merge key, elements are scalars: one that is present already stays.
    } else if (!shape.merge_key.empty()) {
      auto& found = out[*place];
      found = directive == "replace" ? without_directives(item)
                                     : patch_object(found, item, *shape.element);
    }
  }
  return out;
}

/// Sort elements by their position in `order`; elements that it does not name follow.
void reorder(Json& list, const Json& order, const Shape& shape) {
  const ElementIndex ranks(order, shape);
  std::vector<std::pair<std::size_t, Json>> items;
  items.reserve(list.size());
  for (auto& item : list)
    items.emplace_back(ranks.find(element_identity(item, shape)).value_or(order.size()),
                       std::move(item));
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  list = Json::array();
  for (auto& [rank, item] : items) list.push_back(std::move(item));
}

/// $retainKeys: drop the keys that are not listed. For unions, where one member excludes others.
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
    *current = patch_object(*current, value, shape);
  } else if (value.is_array() && current->is_array() && shape.merges) {
    *current = patch_list(*current, value, shape);
  } else {
    *current = without_directives(value);
  }
}

/// $deleteFromPrimitiveList: remove scalars by value.
void delete_values(Json& out, const std::string& key, const Json& values) {
  const auto list = out.find(key);
  if (list == out.end() || !list->is_array() || !values.is_array()) return;
  std::set<std::string> removed;
  for (const auto& value : values) removed.insert(dump(value));
  delete_elements(*list, removed, Shape());
}

Json patch_object(const Json& target, const Json& patch, const Shape& shape) {
  const auto directive = text_at(patch, {kDirective});
  if (directive == "replace") return without_directives(patch);
  if (directive == "delete") return Json::object();
  Json out = target;
  if (const auto* keys = find(patch, {"$retainKeys"}); keys != nullptr && keys->is_array())
    retain(out, *keys);
  // Order matters: deletions, then merges, then $setElementOrder for the merged list.
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

/// 422, as for a patch that is well-formed but cannot be applied to this object.
StatusError patch_error(const std::string& why) {
  return {.code = 422,
          .reason = "Invalid",
          .message = "the server rejected our request due to an error in our request: " + why};
}
}  // namespace

ApiResult<Json> apply_json_patch(const Json& object, const Json& patch) {
  if (!patch.is_array()) return bad_request("a JSON patch must be an array of operations");
  if (patch.size() > kMaxOperations)
    return StatusError{.code = 413,
                       .reason = "RequestEntityTooLarge",
                       .message = "The allowed maximum operations in a JSON patch is 10000"};
  Json out = object;
  std::size_t copied = 0;
  try {
    for (const auto& operation : patch) {
      // Before the operation: a series of copies can grow the object exponentially.
      if (text_at(operation, {"op"}) == "copy")
        copied += dump(out.at(Json::json_pointer(text_at(operation, {"from"})))).size();
      if (copied > kMaxCopied) return patch_error("its copy operations exceed 3 MiB");
      out.patch_inplace(Json::array({operation}));
    }
  } catch (
      const Json::exception& error) {  // the library reports an inapplicable patch no other way
    return patch_error(error.what());
  }
  if (!within_depth(out)) return patch_error("the result nests too deeply");
  return out;
}

ApiResult<Json> apply_merge_patch(const Json& object, const Json& patch) {
  if (!patch.is_object()) return bad_request("a merge patch must be an object");
  Json out = object;
  out.merge_patch(patch);
  return out;
}

ApiResult<Json> apply_strategic_merge_patch(const Json& object, const Json& patch,
                                            const Shape& shape) {
  if (!patch.is_object()) return bad_request("a strategic merge patch must be an object");
  return patch_object(object, patch, shape);
}

}  // namespace kindlb::apiserver

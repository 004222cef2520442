#include "kindlb/json/json.hpp"

#include <algorithm>

template class nlohmann::basic_json<>;

namespace kindlb::json {

namespace {
constexpr int kMaxDepth = 128;

/// Scan the text before parsing: the parser itself recurses. Brackets in strings do not count.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxDepth) return true;
  }
  return false;
}

bool within(const Json& json, int levels) {
  if (!json.is_structured()) return true;
  return levels > 0 && std::all_of(json.begin(), json.end(),
                                   [&](const Json& child) { return within(child, levels - 1); });
}
}  // namespace

const Json* find(const Json& root, Path path) {
  const Json* node = &root;
  for (const char* key : path) {
    if (!node->is_object()) return nullptr;
    const auto found = node->find(key);
    if (found == node->end()) return nullptr;
    node = &*found;
  }
  return node;
}

std::string text_at(const Json& root, Path path) {
  const auto* node = find(root, path);
  return node != nullptr && node->is_string() ? node->get<std::string>() : std::string();
}

std::int64_t number_at(const Json& root, Path path) {
  const auto* node = find(root, path);
  return node != nullptr && node->is_number_integer() ? node->get<std::int64_t>() : 0;
}

std::optional<bool> optional_bool_at(const Json& root, Path path) {
  const auto* node = find(root, path);
  if (node == nullptr || !node->is_boolean()) return std::nullopt;
  return node->get<bool>();
}

bool bool_at(const Json& root, Path path) {
  return optional_bool_at(root, path).value_or(false);
}

std::vector<std::string> texts_at(const Json& root, Path path) {
  std::vector<std::string> out;
  for (const auto& item : list_at(root, path))
    if (item.is_string()) out.push_back(item.get<std::string>());
  return out;
}

std::map<std::string, std::string> text_map_at(const Json& root, Path path) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : map_at(root, path).items())
    if (value.is_string()) out.emplace(key, value.get_ref<const std::string&>());
  return out;
}

const Json& list_at(const Json& root, Path path) {
  static const Json kNone = Json::array();
  const auto* node = find(root, path);
  return node != nullptr && node->is_array() ? *node : kNone;
}

const Json& map_at(const Json& root, Path path) {
  static const Json kNone = Json::object();
  const auto* node = find(root, path);
  return node != nullptr && node->is_object() ? *node : kNone;
}

void erase_at(Json& root, Path path, const char* key) {
  Json* node = &root;
  for (const char* step : path) {
    if (!node->is_object() || !node->contains(step)) return;
    node = &(*node)[step];
  }
  if (node->is_object()) node->erase(key);
}

Json parse_bounded(std::string_view text) {
  return parse_bounded(text, nullptr);
}

Json parse_bounded(std::string_view text, const Json::parser_callback_t& keep) {
  if (too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, keep, false);
}

Json parse_commented(std::string_view text) {
  return Json::parse(text, nullptr, false, true);
}

nlohmann::ordered_json parse_ordered(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

bool within_depth(const Json& json) {
  return within(json, kMaxDepth);
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string dump_ordered(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kindlb::json

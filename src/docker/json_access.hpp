#pragma once
// Questions to JSON of unknown shape, answered with a default instead of an exception. For the
// codecs' .cpp files only.

#include <nlohmann/json.hpp>

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::docker {

using Json = nlohmann::json;

inline Json parse_json(std::string_view text) {
  return Json::parse(text, nullptr, false);
}

/// Text from outside may hold bytes that are not UTF-8: replace them rather than throw.
inline std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The member, or null when there is none or `json` is no object.
inline const Json& member(const Json& json, std::string_view key) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

inline std::string string_of(const Json& json) {
  const auto* text = json.get_ptr<const Json::string_t*>();
  return text == nullptr ? std::string() : *text;
}

inline std::string string_at(const Json& json, std::string_view key) {
  return string_of(member(json, key));
}

template <std::integral T>
T number_at(const Json& json, std::string_view key) {
  const Json& found = member(json, key);
  if (const auto* positive = found.get_ptr<const Json::number_unsigned_t*>())
    return std::in_range<T>(*positive) ? static_cast<T>(*positive) : T{0};
  if (const auto* number = found.get_ptr<const Json::number_integer_t*>())
    return std::in_range<T>(*number) ? static_cast<T>(*number) : T{0};
  return T{0};
}

/// String members only.
inline std::map<std::string, std::string> strings_at(const Json& json, std::string_view key) {
  std::map<std::string, std::string> strings;
  const Json& found = member(json, key);
  if (!found.is_object()) return strings;
  for (const auto& [name, value] : found.items())
    if (value.is_string()) strings.emplace(name, string_of(value));
  return strings;
}

/// Each element decoded; nothing when `json` is no array or one element is not understood.
template <typename Decode>
auto all_of(const Json& json, Decode decode)
    -> std::optional<std::vector<typename std::invoke_result_t<Decode, const Json&>::value_type>> {
  if (!json.is_array()) return std::nullopt;
  std::vector<typename std::invoke_result_t<Decode, const Json&>::value_type> all;
  for (const Json& element : json) {
    auto one = decode(element);
    if (!one) return std::nullopt;
    all.push_back(*std::move(one));
  }
  return all;
}

}  // namespace kindlb::docker

#pragma once
// How all modules read JSON from other programs: the API server, the container engine, Envoy,
// files. Such input may be anything, so parsing and access never throw and depth is limited. A
// value that is absent and one of another type read the same: as empty, zero or false.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Instantiated once, in json.cpp: it took most of the compile time of every source that uses it.
extern template class nlohmann::basic_json<>;

namespace kindlb::json {

using Json = nlohmann::json;
using Path = std::initializer_list<const char*>;

inline constexpr int kOneLine = -1;  ///< no indentation, for dump()

/// Return the value at `path`; null when a step is missing or is not an object.
const Json* find(const Json& root, Path path);

/// Return the value at `path`; empty, zero or false when it is absent or of another type.
std::string text_at(const Json& root, Path path);
std::int64_t number_at(const Json& root, Path path);
bool bool_at(const Json& root, Path path);
/// As bool_at(), for fields whose default is not false. Nothing: absent or not a boolean.
std::optional<bool> optional_bool_at(const Json& root, Path path);
std::vector<std::string> texts_at(const Json& root, Path path);

/// Return a reference into `root`; to a static empty array or object when absent or of another
/// type.
const Json& list_at(const Json& root, Path path);
const Json& map_at(const Json& root, Path path);

/// Remove `key` from the object at `path`, if both exist.
void erase_at(Json& root, Path path, const char* key);

/// Parse `text`. The result is_discarded() when it is not JSON or nests deeper than 128 levels:
/// copying and destroying a tree recurses, so deep input could exhaust the stack.
Json parse_bounded(std::string_view text);

/// Parse a text of our own, in which comments are allowed.
Json parse_commented(std::string_view text);

/// Parse JSON that we wrote ourselves, keeping the order of its fields.
nlohmann::ordered_json parse_ordered(std::string_view text);

/// Return whether `json` nests no deeper than parse_bounded() admits. For trees that grew by
/// patches.
bool within_depth(const Json& json);

/// Serialize on one line, or indented by `indent` columns per level. Bytes that are not UTF-8
/// become U+FFFD instead of an exception.
std::string dump(const Json& json, int indent = kOneLine);
/// The same for objects whose fields keep the order in which they were added.
std::string dump_ordered(const nlohmann::ordered_json& json, int indent = kOneLine);

/// Return the strings of the object that `path` leads to; members of another type are left out.
std::map<std::string, std::string> text_map_at(const Json& root, Path path);

/// Parse with the limits of parse_bounded(text). `keep` decides, as nlohmann's parser callback,
/// which values stay in the tree; it is called for everything in the text.
Json parse_bounded(std::string_view text, const Json::parser_callback_t& keep);

}  // namespace kindlb::json

#pragma once
// The one way to read JSON that comes from outside: no exception for what is absent or of another
// type, and limits on what comes from outside.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Instantiated once, in json.cpp: most of the time to compile these sources would go into it.
extern template class nlohmann::basic_json<>;

namespace kindlb::json {

using Json = nlohmann::json;
using Path = std::initializer_list<const char*>;

/// The value that `path` leads to; null when a step is missing or is no object.
const Json* find(const Json& root, Path path);

/// Empty, zero, false when absent or of another type.
std::string text_at(const Json& root, Path path);
std::int64_t number_at(const Json& root, Path path);
bool bool_at(const Json& root, Path path);
/// Absent: neither true nor false.
std::optional<bool> optional_bool_at(const Json& root, Path path);
std::vector<std::string> texts_at(const Json& root, Path path);

/// An empty array or object when absent or of another type.
const Json& list_at(const Json& root, Path path);
const Json& map_at(const Json& root, Path path);

/// Removes `key` of the object that `path` leads to, if both are there.
void erase_at(Json& root, Path path, const char* key);

/// Discarded when it is no JSON or nested too deeply: copying a tree recurses.
Json parse_bounded(std::string_view text);

/// Whether a tree is no deeper than parse_bounded() lets in.
bool within_depth(const Json& json);

/// One line; bytes that are no UTF-8 are mended.
std::string dump(const Json& json);
/// The same for objects whose fields keep the order in which they were added.
std::string dump_ordered(const nlohmann::ordered_json& json);

/// Return the strings of the object that `path` leads to; members of another type are left out.
std::map<std::string, std::string> text_map_at(const Json& root, Path path);

/// Parse with the limits of parse_bounded(text). `keep` decides, as nlohmann's parser callback,
/// which values stay in the tree; it is called for everything in the text.
Json parse_bounded(std::string_view text, const Json::parser_callback_t& keep);

}  // namespace kindlb::json

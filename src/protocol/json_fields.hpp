#pragma once
// JSON from and into plain structs, for codecs' .cpp files only (it pulls in the JSON library).
//
// Fields<T>::kAll lists the fields of T once, as (JSON name, member) pairs. write() and read() both
// follow that list, so that what is written and what is read cannot drift apart. A required field
// must be present when read; an optional one keeps the member's default, which is how a field is
// added without breaking older peers. All fields are always written. Unknown fields are ignored.
//
// Reading never throws, whatever the input: the text is bounded in size, depth and number of values
// before the parser sees it, and every access checks the type.

#include "kindlb/core/ip.hpp"
#include "kindlb/json/json.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace kindlb::protocol::codec {

using json::Json;

/// One field of T: its name in JSON and the member it is stored in.
template <typename T, typename Value>
struct Field {
  const char* name;
  Value T::*member;
  bool required;
};

template <typename T, typename Value>
constexpr Field<T, Value> required(const char* name, Value T::*member) {
  return {name, member, true};
}
template <typename T, typename Value>
constexpr Field<T, Value> optional(const char* name, Value T::*member) {
  return {name, member, false};
}

/// Specialised per struct: `kAll`, a tuple of Field; for messages also `kType`, the value of
/// "type".
template <typename T>
struct Fields;

/// Specialised per enumeration: `kList`, its values with their names on the wire.
template <typename E>
struct EnumNames;

// Writing ----------------------------------------------------------------------------------------

template <typename T>
Json write(const T& value);

template <typename T>
Json write_value(const T& value) {
  Json out = Json::object();
  std::apply([&](const auto&... field) { ((out[field.name] = write(value.*field.member)), ...); },
             Fields<T>::kAll);
  return out;
}
template <typename T>
Json write_value(const std::vector<T>& items) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(write(item));
  return out;
}
inline Json write_value(const core::IpAddress& address) {
  return address.text();
}
inline Json write_value(const core::Cidr& cidr) {
  return cidr.text();
}
inline Json write_value(std::chrono::milliseconds duration) {
  return duration.count();
}

template <typename T>
Json write(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    for (const auto& [entry, name] : EnumNames<T>::kList)
      if (entry == value) return name;
    return nullptr;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    return write_value(value);
  }
}

// Reading ----------------------------------------------------------------------------------------
// Each read() returns whether `from` is such a value. If not, `why` says what is wrong, prefixed by
// the path to it: "unit: addresses: item 0: expected ...".

template <typename T>
bool read(const Json& from, T& out, std::string& why);

inline bool refuse(const char* wanted, std::string& why) {
  why = std::string("expected ") + wanted;
  return false;
}

template <typename T, typename Value>
bool read_field(const Json& from, const Field<T, Value>& field, T& out, std::string& why) {
  const auto found = from.find(field.name);
  if (found == from.end()) {
    if (field.required) why = std::string(field.name) + ": missing";
    return !field.required;
  }
  if (read(*found, out.*field.member, why)) return true;
  why = std::string(field.name) + ": " + why;
  return false;
}

template <typename T>
bool read_value(const Json& from, T& out, std::string& why) {
  if (!from.is_object()) return refuse("an object", why);
  return std::apply(
      [&](const auto&... field) { return (read_field(from, field, out, why) && ...); },
      Fields<T>::kAll);
}
template <typename T>
bool read_value(const Json& from, std::vector<T>& out, std::string& why) {
  if (!from.is_array()) return refuse("a list", why);
  out.clear();
  for (const auto& item : from)
    if (!read(item, out.emplace_back(), why)) {
      why.insert(0, "item " + std::to_string(out.size() - 1) + ": ");
      return false;
    }
  return true;
}
inline bool read_value(const Json& from, std::string& out, std::string& why) {
  if (!from.is_string()) return refuse("text", why);
  out = from.get_ref<const std::string&>();
  return true;
}

/// IpAddress and Cidr: `T::parse` reads them from text.
template <typename T>
bool read_parsed(const Json& from, T& out, const char* wanted, std::string& why) {
  const auto parsed = from.is_string() ? T::parse(from.get_ref<const std::string&>())
                                       : decltype(T::parse(std::string()))();
  if (!parsed) return refuse(wanted, why);
  out = *parsed;
  return true;
}
inline bool read_value(const Json& from, core::IpAddress& out, std::string& why) {
  return read_parsed(from, out, "an IP address", why);
}
inline bool read_value(const Json& from, core::Cidr& out, std::string& why) {
  return read_parsed(from, out, "an address with its prefix length", why);
}

template <typename T>
bool read_number(const Json& from, T& out, std::string& why) {
  // The parser keeps what is not negative as unsigned; no field of ours is negative.
  if (!from.is_number_unsigned()) return refuse("a number", why);
  const auto number = from.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
    return refuse("a smaller number", why);
  out = static_cast<T>(number);
  return true;
}
inline bool read_value(const Json& from, std::chrono::milliseconds& out, std::string& why) {
  std::uint32_t count = 0;
  if (!read_number(from, count, why)) return false;
  out = std::chrono::milliseconds(count);
  return true;
}

template <typename T>
bool read_enum(const Json& from, T& out, std::string& why) {
  if (from.is_string())
    for (const auto& [value, name] : EnumNames<T>::kList)
      if (from.get_ref<const std::string&>() == name) {
        out = value;
        return true;
      }
  return refuse("one of the known words", why);
}

template <typename T>
bool read(const Json& from, T& out, std::string& why) {
  if constexpr (std::is_enum_v<T>) {
    return read_enum(from, out, why);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!from.is_boolean()) return refuse("true or false", why);
    out = from.get<bool>();
    return true;
  } else if constexpr (std::is_integral_v<T>) {
    return read_number(from, out, why);
  } else {
    return read_value(from, out, why);
  }
}

/// Far beyond any message of ours, and low enough that a hostile line costs little memory.
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxValues = 1'000'000;

/// Count brackets and commas outside strings, before the parser allocates a value for each of them.
inline bool is_within_limits(std::string_view text) {
  std::size_t depth = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',' || c == '[' || c == '{') ++values;
    if (depth > kMaxDepth || values > kMaxValues) return false;
  }
  return true;
}

/// Return the object in `text`, or a discarded value with the reason in `why`.
inline Json parse_object(std::string_view text, std::size_t limit, std::string& why) {
  Json parsed = Json::value_t::discarded;
  if (text.size() > limit) {
    why = "longer than " + std::to_string(limit) + " bytes";
    return parsed;
  }
  if (is_within_limits(text)) parsed = json::parse_bounded(text);
  if (parsed.is_object()) return parsed;
  why = "not a JSON object";
  return Json::value_t::discarded;
}

}  // namespace kindlb::protocol::codec

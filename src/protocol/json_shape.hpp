#pragma once
// JSON from and into plain structs, for codecs' .cpp files only (it pulls in the JSON library).
// Shape<T> lists the fields of T once; Writer and Reader both walk that list, so that what is
// written and what is read cannot drift apart. `need` fields must be present when read, `may` ones
// keep their default. Reading never throws, whatever the input.

#include "kindlb/core/ip.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kindlb::protocol::shape {

using json = nlohmann::json;

template <typename T>
struct Shape;

/// Lists an enumeration's values with their names on the wire.
template <typename E>
struct Words;

// Writing ----------------------------------------------------------------------------------------

template <typename T>
json write(const T& value);

struct Writer {
  json out = json::object();

  template <typename T>
  void need(const char* name, const T& value) {
    out[name] = write(value);
  }
  template <typename T>
  void may(const char* name, const T& value) {
    need(name, value);
  }
};

template <typename T>
json write_value(const T& value) {
  Writer writer;
  Shape<T>::list(writer, value);
  return std::move(writer.out);
}
template <typename T>
json write_value(const std::vector<T>& items) {
  json out = json::array();
  for (const auto& item : items) out.push_back(write(item));
  return out;
}
inline json write_value(const core::IpAddress& address) {
  return address.text();
}
inline json write_value(const core::Cidr& cidr) {
  return cidr.text();
}
inline json write_value(std::chrono::milliseconds duration) {
  return duration.count();
}

template <typename T>
json write(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    for (const auto& [entry, word] : Words<T>::kList)
      if (entry == value) return word;
    return nullptr;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    return write_value(value);
  }
}

// Reading: each read() answers whether `from` was such a value; `why` then says what was wrong
// ------

template <typename T>
bool read(const json& from, T& out, std::string& why);

struct Reader {
  const json& from;
  std::string& why;
  bool ok = true;

  template <typename T>
  void need(const char* name, T& out) {
    field(name, out, true);
  }
  template <typename T>
  void may(const char* name, T& out) {
    field(name, out, false);
  }

 private:
  template <typename T>
  void field(const char* name, T& out, bool required) {
    if (!ok) return;
    const auto found = from.find(name);
    if (found == from.end()) {
      ok = !required;
      if (required) why = std::string(name) + ": missing";
      return;
    }
    ok = read(*found, out, why);
    if (!ok) why = std::string(name) + ": " + why;
  }
};

inline bool refuse(const char* wanted, std::string& why) {
  why = std::string("expected ") + wanted;
  return false;
}

template <typename T>
bool read_value(const json& from, T& out, std::string& why) {
  if (!from.is_object()) return refuse("an object", why);
  Reader reader{from, why};
  Shape<T>::list(reader, out);
  return reader.ok;
}
template <typename T>
bool read_value(const json& from, std::vector<T>& out, std::string& why) {
  if (!from.is_array()) return refuse("a list", why);
  out.clear();
  for (const auto& item : from)
    if (!read(item, out.emplace_back(), why)) {
      why.insert(0, "item " + std::to_string(out.size() - 1) + ": ");
      return false;
    }
  return true;
}
inline bool read_value(const json& from, std::string& out, std::string& why) {
  if (!from.is_string()) return refuse("text", why);
  out = from.get_ref<const std::string&>();
  return true;
}
inline bool read_value(const json& from, core::IpAddress& out, std::string& why) {
  const auto parsed =
      from.is_string() ? core::IpAddress::parse(from.get_ref<const std::string&>()) : std::nullopt;
  if (!parsed) return refuse("an IP address", why);
  out = *parsed;
  return true;
}
inline bool read_value(const json& from, core::Cidr& out, std::string& why) {
  const auto parsed =
      from.is_string() ? core::Cidr::parse(from.get_ref<const std::string&>()) : std::nullopt;
  if (!parsed) return refuse("an address with its prefix length", why);
  out = *parsed;
  return true;
}

template <typename T>
bool read_number(const json& from, T& out, std::string& why) {
  // The parser keeps what is not negative as unsigned; nothing of ours is negative.
  if (!from.is_number_unsigned()) return refuse("a number", why);
  const auto number = from.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
    return refuse("a smaller number", why);
  out = static_cast<T>(number);
  return true;
}
inline bool read_value(const json& from, std::chrono::milliseconds& out, std::string& why) {
  std::uint32_t count = 0;
  if (!read_number(from, count, why)) return false;
  out = std::chrono::milliseconds(count);
  return true;
}

template <typename T>
bool read_word(const json& from, T& out, std::string& why) {
  if (from.is_string())
    for (const auto& [value, word] : Words<T>::kList)
      if (from.get_ref<const std::string&>() == word) {
        out = value;
        return true;
      }
  return refuse("one of the known words", why);
}

template <typename T>
bool read(const json& from, T& out, std::string& why) {
  if constexpr (std::is_enum_v<T>) {
    return read_word(from, out, why);
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

/// Counts brackets and commas outside strings before the parser builds a value for each of them.
inline bool is_modest(std::string_view text) {
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

/// The object in `text`, or a discarded value with the reason in `why`.
inline json parse_object(std::string_view text, std::size_t limit, std::string& why) {
  json parsed = json::value_t::discarded;
  if (text.size() > limit) {
    why = "longer than " + std::to_string(limit) + " bytes";
    return parsed;
  }
  if (is_modest(text)) parsed = json::parse(text, nullptr, false);
  if (parsed.is_object()) return parsed;
  why = "not a JSON object";
  return json::value_t::discarded;
}

}  // namespace kindlb::protocol::shape

#pragma once
// Typed access to JSON from outside. An absent or null field gives its default; a field of another
// type gives its default too, and the first such field is remembered as the Problem, so that a
// decoder reads straight on and asks once at the end. Readers only borrow the JSON.

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kindlb::json {

using Json = nlohmann::json;

/// The first thing that was not as the API says, for people: "spec.ports[0].port: not a number".
struct Problem {
  std::optional<std::string> text;
  std::string path;  ///< the field itself: "spec.ports[0].port", "metadata.annotations.a"
};

class Reader {
 public:
  Reader(const Json& value, Problem& problem);

  bool has(const char* key) const;
  std::string text(const char* key) const;
  /// Also a problem when absent or empty.
  std::string required(const char* key) const;
  bool flag(const char* key, bool fallback) const;
  std::optional<bool> maybe_flag(const char* key) const;
  std::optional<std::uint16_t> port(const char* key) const;
  int number(const char* key) const;
  /// A number or a string, as text.
  std::string number_or_text(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  std::map<std::string, std::string> text_map(const char* key) const;

  /// The object under `key`; one without fields when absent. Must not outlive this Reader.
  Reader object(const char* key) const;
  void each(const char* key, const std::function<void(const Reader&)>& element) const;

  /// The enumerator whose name the field holds; absent or empty: `fallback`.
  template <typename E>
  E choice(const char* key, std::initializer_list<std::pair<const char*, E>> names,
           E fallback) const {
    const auto value = text(key);
    if (value.empty()) return fallback;
    for (const auto& [name, enumerator] : names)
      if (value == name) return enumerator;
    std::string known;
    for (const auto& [name, enumerator] : names)
      known += (known.empty() ? "" : ", ") + std::string(name);
    report(key, "'" + value + "' is not known: use one of " + known);
    return fallback;
  }

  /// `inside`: what leads from that field to the culprit, "[1]" or ".name"; told apart from `what`.
  void report(std::string_view key, std::string_view what, std::string_view inside = {}) const;

 private:
  Reader(const Json& value, const Reader& parent, std::string_view name, std::size_t index);

  /// Nothing when absent or null.
  const Json* find(const char* key) const;
  std::string path() const;

  const Json& value_;
  Problem& problem_;
  const Reader* parent_ = nullptr;
  std::string_view name_;
  std::optional<std::size_t> index_;
};

}  // namespace kindlb::json

#pragma once
// Strict, typed access to JSON whose shape is known: json.hpp is for reading what may be anything.
// An absent or null field gives its default. A field of another type gives its default too, and the
// first such field is remembered as the Problem, so that a decoder reads straight on and checks
// once at the end. Not thread-safe.

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

/// The first field that was not as expected.
struct Problem {
  std::optional<std::string> text;  ///< "spec.ports[0].port: not a number"; nothing: no problem
  std::string path;  ///< the field itself: "spec.ports[0].port", "metadata.annotations.a"
};

/// One object. Borrows the JSON, the Problem and, if nested, its parent Reader, which it needs to
/// name the path of a field: all must outlive it.
class Reader {
 public:
  Reader(const Json& value, Problem& problem);

  bool has(const char* key) const;
  std::string text(const char* key) const;
  /// Like text(), but absent or empty is a problem too.
  std::string required(const char* key) const;
  bool flag(const char* key, bool fallback) const;
  std::optional<bool> maybe_flag(const char* key) const;
  std::optional<std::uint16_t> port(const char* key) const;
  int number(const char* key) const;
  /// Return a number or a string as text (IntOrString).
  std::string number_or_text(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  std::map<std::string, std::string> text_map(const char* key) const;

  /// Return the object under `key`; one without fields when absent. Must not outlive this Reader.
  Reader object(const char* key) const;
  /// Call `element` with each object of the list under `key`.
  void each(const char* key, const std::function<void(const Reader&)>& element) const;

  /// Return the enumerator whose name the field holds; absent or empty: `fallback`.
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

  /// Record a problem with the field `key`, unless there is one already. `inside`: what leads from
  /// that field to the part that is wrong, "[1]" or ".name"; only Problem::path contains it.
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

#pragma once
// Read the fields of a YAML map strictly: every key must be known and its value of the right kind.
// Only the first fault is kept, with its place, so that a reader can go on with default values and
// check once at the end. Not thread-safe.

#include "kindlb/yaml/node.hpp"

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kindlb::yaml {

/// Collects faults; keeps the first one.
class Faults {
 public:
  void add(const Place& place, std::string what);
  bool none() const { return !first_; }
  /// REQUIRES: !none()
  core::Error error(const std::string& file) const;

 private:
  struct Fault {
    Place place;
    std::string what;
  };
  std::optional<Fault> first_;
};

/// The fields of one map. Borrows the node and the faults, which must outlive it.
class Fields {
 public:
  /// Treat a Null node as an empty map; any other kind is a fault.
  Fields(const Node& map, Faults& faults);
  /// Add a fault for each key that was never asked for: it is unknown to the reader.
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  /// Return the value of `key`, or null when it is absent or empty.
  const Node* find(const char* key);
  std::optional<std::string> text(const char* key);
  /// As text(), but a missing or empty value is a fault.
  std::string required(const char* key);
  std::optional<bool> flag(const char* key);
  std::optional<std::uint16_t> port(const char* key);
  /// Return the items, or nothing when the key is absent.
  std::optional<std::vector<const Node*>> list(const char* key);

  /// Return the enumerator that the node names; any other value is a fault that lists the names.
  template <typename E>
  std::optional<E> choice(const Node& node,
                          std::initializer_list<std::pair<const char*, E>> names) {
    std::string known;
    for (const auto& [name, value] : names) {
      if (node.kind == Kind::Scalar && node.text == name) return value;
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    complain(node, "must be one of " + known + ", not " + describe(node));
    return std::nullopt;
  }

  void complain(const Node& node, std::string what) { faults_.add(node.place, std::move(what)); }

 private:
  const Node& map_;
  Faults& faults_;
  std::set<std::string_view> asked_;
};

/// Return a scalar's text; for maps and lists add a fault and return an empty string.
std::string text_of(const Node& node, Faults& faults);
/// Return a number from 1 to 65535; for anything else add a fault and return 0.
std::uint16_t port_of(const Node& node, Faults& faults);

}  // namespace kindlb::yaml

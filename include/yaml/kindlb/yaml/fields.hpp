#pragma once
// Strict reading of a small file of ours: every key must be known and of the right kind. The first
// thing that is not is remembered with its place, so that a reader reads straight on and asks once
// at the end. Fields only borrow the node.

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

/// The first thing that was wrong.
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

class Fields {
 public:
  /// A Null node counts as a map without fields.
  Fields(const Node& map, Faults& faults);
  /// Complains about the keys that nobody has asked for.
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  /// Null when absent, or empty in the file.
  const Node* find(const char* key);
  std::optional<std::string> text(const char* key);
  /// Also a fault when absent or empty.
  std::string required(const char* key);
  std::optional<bool> flag(const char* key);
  std::optional<std::uint16_t> port(const char* key);
  /// Nothing when absent.
  std::optional<std::vector<const Node*>> list(const char* key);

  /// The enumerator that the node names.
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

/// The text of a string or of anything unquoted; a fault and empty for maps and lists.
std::string text_of(const Node& node, Faults& faults);
/// A number from 1 to 65535; a fault and 0 for anything else.
std::uint16_t port_of(const Node& node, Faults& faults);

}  // namespace kindlb::yaml

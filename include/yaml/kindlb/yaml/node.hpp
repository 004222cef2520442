#pragma once
// YAML (and so JSON) as a tree of plain values in which everything knows its place, so that what is
// wrong with a file can be told as FILE:LINE:COLUMN. Anchors, aliases and merge keys are resolved.
// Nothing here says what a document means.

#include "kindlb/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kindlb::yaml {

/// Counted from one; zero: unknown.
struct Place {
  int line = 0;
  int column = 0;

  bool operator==(const Place&) const = default;
};

enum class Kind { Null, Scalar, List, Map };

struct Key {
  std::string text;
  Place place;

  bool operator==(const Key&) const = default;
};

struct Node {
  Kind kind = Kind::Null;
  Place place;
  std::string text;         ///< of a scalar
  bool plain = false;       ///< not quoted: the text may stand for a number or a boolean
  std::vector<Key> keys;    ///< of a map, in the order of the file; one per item
  std::vector<Node> items;  ///< of a list, or the values of a map

  /// The value under `key`; null when there is none.
  const Node* find(std::string_view key) const;
  bool operator==(const Node&) const = default;
};

/// "map", "list", "string"...: what a message calls it.
std::string describe(const Node& node);

using Scalar = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string>;

/// What a scalar stands for, decided as kubectl's YAML does (1.1): unquoted yes, no, on and off are
/// booleans, 0o17 and 017 are octal, and a date is a string.
Scalar resolve(const Node& scalar);

/// The documents of `text`; an empty one is Null. An error's operation is FILE:LINE:COLUMN. What an
/// alias repeats counts towards a limit, as does depth: no input makes this run away.
core::Result<std::vector<Node>> parse(const std::string& text, const std::string& file);

/// `what`, at that place of that file.
core::Error fault(const std::string& file, const Place& place, std::string what);

/// The node that `path` ("spec.ports[0].port") leads to, or the nearest one on the way there.
const Node& nearest(const Node& root, std::string_view path);

}  // namespace kindlb::yaml

#pragma once
// YAML (and JSON, its subset) as a tree of values that know their place, so that errors can be
// reported as FILE:LINE:COLUMN. Anchors, aliases and merge keys are resolved. No schema: see
// fields.hpp.

#include "kindlb/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kindlb::yaml {

/// A position in a file, counted from 1. Line 0: unknown.
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

/// A value and everything below it. INVARIANT: a map has as many keys as items.
struct Node {
  Kind kind = Kind::Null;
  Place place;
  std::string text;         ///< of a scalar
  bool plain = false;       ///< not quoted: resolve() may read it as a number or boolean
  std::vector<Key> keys;    ///< of a map, in the order of the file; one per item
  std::vector<Node> items;  ///< of a list, or the values of a map

  /// Return the value of `key`, or null.
  const Node* find(std::string_view key) const;
  bool operator==(const Node&) const = default;
};

/// Name the value for messages: "a map", "a list", "'text'" or "nothing".
std::string describe(const Node& node);

using Scalar = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string>;

/// Resolve a scalar as kubectl does (YAML 1.1): unquoted yes, no, on and off are booleans, 0o17 and
/// 017 are octal, and a date is a string.
Scalar resolve(const Node& scalar);

/// Parse all documents of `text`; an empty one is Null. An error's operation is FILE:LINE:COLUMN.
/// Depth and what anchors and aliases repeat are limited, so that no input can exhaust stack or
/// memory.
core::Result<std::vector<Node>> parse(const std::string& text, const std::string& file);

/// Return an error for a place in a file, free of control characters.
core::Error fault(const std::string& file, const Place& place, std::string what);

/// Return the node at `path` ("spec.ports[0].port"), or its nearest existing ancestor.
const Node& nearest(const Node& root, std::string_view path);

}  // namespace kindlb::yaml

#pragma once
// Sets of fields as managedFields records them (FieldsV1), and the set operations of
// structured-merge-diff. A set is a tree of path elements:
//   f:name          a field of a struct or a key of a map
//   k:{"port":80}   an element of a list of type map, by its keys
//   v:"x"           an element of a list of type set, by its value
// Pure values.

#include "json.hpp"
#include "schema/schema.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct FieldSet {
  bool member = false;  ///< contains this path itself ("." in FieldsV1), not only paths below
  std::map<std::string, FieldSet> children;

  bool empty() const { return !member && children.empty(); }
  bool operator==(const FieldSet&) const = default;
};

FieldSet set_union(const FieldSet& a, const FieldSet& b);
FieldSet set_difference(const FieldSet& from, const FieldSet& what);
FieldSet set_intersection(const FieldSet& a, const FieldSet& b);

Json to_fields_v1(const FieldSet& set);
FieldSet from_fields_v1(const Json& json);

/// Return the paths as conflicts print them: .spec.ports[port=80,protocol="TCP"].name
std::vector<std::string> paths_of(const FieldSet& set);

/// Return the path element of an element of a list of type map or set. A key that is absent counts
/// with its default (protocol: TCP), or an element without it would not match itself later.
std::string path_element(const Json& element, const Shape& list);

/// Return the set of all fields of `value`. With `containers`, maps and lists are members beside
/// what they contain: kube-apiserver records them for managers that update, not for those that
/// apply.
FieldSet fields_of(const Json& value, const Shape& shape, bool containers);

struct Comparison {
  FieldSet changed;  ///< added, or with another value
  FieldSet removed;
};
/// Compare two objects field by field; atomic lists and maps count as one field.
Comparison compare(const Json& before, const Json& after, const Shape& shape);

}  // namespace kindlb::apiserver

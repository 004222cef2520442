#pragma once
// A set of fields as server-side apply writes it (FieldsV1): a tree whose steps are "f:name",
// "k:{\"port\":80}" for the element of a keyed list and "v:\"x\"" for that of a set. Pure values.

#include "json.hpp"
#include "schema/schema.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct FieldSet {
  bool member = false;  ///< the place itself, not only what is below
  std::map<std::string, FieldSet> children;

  bool empty() const { return !member && children.empty(); }
  bool operator==(const FieldSet&) const = default;
};

FieldSet set_union(const FieldSet& a, const FieldSet& b);
FieldSet set_difference(const FieldSet& from, const FieldSet& what);
FieldSet set_intersection(const FieldSet& a, const FieldSet& b);

Json to_fields_v1(const FieldSet& set);
FieldSet from_fields_v1(const Json& json);

/// ".spec.ports[port=80,protocol=\"TCP\"].name": how conflicts name fields.
std::vector<std::string> paths_of(const FieldSet& set);

/// The step to an element of a keyed list or set.
std::string path_element(const Json& element, const Shape& list);

/// Every field that `value` has. With `containers`, maps and lists count beside what is in them, as
/// they do for those who update; for those who apply they do not.
FieldSet fields_of(const Json& value, const Shape& shape, bool containers);

struct Comparison {
  FieldSet changed;  ///< new, or of another value
  FieldSet removed;
};
Comparison compare(const Json& before, const Json& after, const Shape& shape);

}  // namespace kindlb::apiserver

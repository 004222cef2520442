#pragma once
// The merge of server-side apply, by the list and map types of the schema (KEP-555). Pure; knows no
// managers: managed_fields decides what is removed.

#include "json.hpp"
#include "merge/field_set.hpp"
#include "schema/schema.hpp"

namespace kindlb::apiserver {

/// Return `live` with all fields of `config` set. Structs, maps, and lists of type map and set are
/// merged element by element, new elements last; everything else is replaced.
Json merge_typed(const Json& live, const Json& config, const Shape& shape);

/// Remove the fields in `removed` from `value`. An element of a list or map stays as long as `kept`
/// has anything of it: another manager still owns a part.
void remove_fields(Json& value, const Shape& shape, const FieldSet& removed, const FieldSet& kept);

}  // namespace kindlb::apiserver

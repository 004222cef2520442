#pragma once
// Values put together by the rules of their shape: what server-side apply does to an object.

#include "json.hpp"
#include "merge/field_set.hpp"
#include "schema/schema.hpp"

namespace kindlb::apiserver {

/// `live` with everything that `config` names: structs, maps, sets and keyed lists piece by piece,
/// everything else as a whole.
Json merge_typed(const Json& live, const Json& config, const Shape& shape);

/// Takes out of `value` what is in `gone`; an element of a list goes only if nothing of it is in
/// `kept`.
void remove_fields(Json& value, const Shape& shape, const FieldSet& removed, const FieldSet& kept);

}  // namespace kindlb::apiserver

#pragma once
// JSON patch, JSON merge patch and strategic merge patch. Pure and without exceptions: a patch that
// cannot be applied is an error (400, 413 or 422). Bounded in operations, copies and depth.

#include "json.hpp"
#include "schema/schema.hpp"
#include "status_error.hpp"

namespace kindlb::apiserver {

/// RFC 6902.
ApiResult<Json> apply_json_patch(const Json& object, const Json& patch);
/// RFC 7386.
ApiResult<Json> apply_merge_patch(const Json& object, const Json& patch);
/// Merge lists by the merge key of their shape. Supports the directives $patch, $retainKeys,
/// $setElementOrder and $deleteFromPrimitiveList, which kubectl apply and edit send.
ApiResult<Json> apply_strategic_merge_patch(const Json& object, const Json& patch,
                                            const Shape& shape);

}  // namespace kindlb::apiserver

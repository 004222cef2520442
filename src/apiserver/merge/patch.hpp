#pragma once
// The three kinds of patches that are not server-side apply. Pure; a patch that makes no sense is
// refused, never thrown.

#include "json.hpp"
#include "schema/schema.hpp"
#include "status_error.hpp"

namespace kindlb::apiserver {

/// RFC 6902. `what` names the object in a refusal.
ApiResult<Json> apply_json_patch(const Json& object, const Json& patch);
/// RFC 7386.
ApiResult<Json> apply_merge_patch(const Json& object, const Json& patch);
/// Lists merge by their shape's key; $patch, $retainKeys, $setElementOrder and
/// $deleteFromPrimitiveList are honoured.
ApiResult<Json> apply_strategic_merge_patch(const Json& object, const Json& patch,
                                            const Shape& shape);

}  // namespace kindlb::apiserver

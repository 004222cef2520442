#pragma once
// Who set which field: the book-keeping behind server-side apply. Pure: the time is given.

#include "json.hpp"
#include "schema/resources.hpp"
#include "status_error.hpp"

#include <string>

namespace kindlb::apiserver {

struct FieldManager {
  std::string name;
  std::string subresource;  ///< "status", or empty
  std::string time;         ///< RFC 3339
};

/// Puts metadata.managedFields into `after`, the result of an update or (without `before`) of a
/// creation by `writer`.
void track_update(const Json* before, Json& after, const Resource& resource,
                  const FieldManager& field_manager);

/// `live` with `config` applied to it by `writer`: fields the writer applied before and no longer
/// names go, unless somebody else has them too. Refused when a field of somebody else would change,
/// unless `force`.
ApiResult<Json> apply_config(const Json& live, const Json& config, const Resource& resource,
                             const FieldManager& field_manager, bool force);

/// Whether they differ in anything but the versions and times of their book-keeping.
bool same_content(const Json& a, const Json& b);

}  // namespace kindlb::apiserver

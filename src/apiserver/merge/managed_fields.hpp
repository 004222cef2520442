#pragma once
// metadata.managedFields and server-side apply (KEP-555). An entry is identified by manager,
// operation (Apply or Update), subresource and apiVersion, and holds the set of fields it owns:
// - An update gives the fields it changes to its own entry and takes them from all others.
// - An apply owns exactly the fields of its configuration. Fields that it owned before and names no
//   longer are removed from the object unless another entry owns them. Changing a field that
//   another entry owns is a conflict, unless forced; setting it to the same value shares it.
// Fields that the server sets (names, uid, versions, times) have no owner. Pure: the caller passes
// the time.

#include "json.hpp"
#include "schema/resources.hpp"
#include "status_error.hpp"

#include <string>

namespace kindlb::apiserver {

/// The author of a write.
struct FieldManager {
  std::string name;
  std::string subresource;  ///< "status", or empty
  std::string time;         ///< RFC 3339
};

/// Set metadata.managedFields of `after`, the result of an update by `field_manager`, or of a
/// creation if `before` is null.
void track_update(const Json* before, Json& after, const Resource& resource,
                  const FieldManager& field_manager);

/// Apply `config` to `live` and return the result with its managedFields. Fails with 409 and a
/// cause per field if other managers own fields that would change, unless `force`.
ApiResult<Json> apply_config(const Json& live, const Json& config, const Resource& resource,
                             const FieldManager& field_manager, bool force);

/// Return whether two versions of an object differ in nothing but resourceVersion, generation and
/// the times in managedFields. Such a write is not stored: a controller that applies the same
/// configuration again must not trigger watches.
bool same_content(const Json& a, const Json& b);

}  // namespace kindlb::apiserver

#pragma once
// ObjectMeta: the fields that the server sets (uid, creationTimestamp, generation, generated
// names), those that an update cannot change, and the validation of those that clients set.

#include "json.hpp"
#include "schema/resources.hpp"
#include "status_error.hpp"
#include "storage/store.hpp"

#include <ctime>
#include <optional>
#include <string>

namespace kindlb::apiserver {

/// How many random characters generateName appends (base::random_name), as in kube-apiserver.
inline constexpr std::size_t kGeneratedSuffix = 5;

/// Return a random UUID, version 4.
std::string new_uid();
/// "2026-01-31T12:00:00Z"
std::string rfc3339(std::time_t time);
std::string now_rfc3339();

ObjectKey key_of(const Json& object);
/// Deleted, but kept by a finalizer.
bool is_terminating(const Json& object);
bool has_finalizers(const Json& object);

/// Validate name, labels, annotations and finalizers.
std::optional<StatusError> validate_metadata(const Json& object, const Resource& resource);

/// Set the fields of a new object that clients cannot choose, as FillObjectMetaSystemFields.
void fill_system_metadata(Json& object, const Resource& resource, const std::string& ns);

/// Restore from `current` the fields that an update cannot change, and increment the generation if
/// the spec changed. Fails when the client sent another name or uid (422), or a resourceVersion
/// that is not the current one (409): that is how optimistic locking works.
std::optional<StatusError> preserve_system_metadata(Json& object, const Json& current,
                                                    const Resource& resource);

}  // namespace kindlb::apiserver

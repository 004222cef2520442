#pragma once
// What the server gives an object itself: names, uids, times.

#include "json.hpp"
#include "schema/resources.hpp"
#include "status_error.hpp"
#include "storage/store.hpp"

#include <ctime>
#include <optional>
#include <string>

namespace kindlb::apiserver {

std::string new_uid();
/// Five characters that cannot be mistaken for each other.
std::string random_name_suffix();
/// "2026-01-31T12:00:00Z"
std::string rfc3339(std::time_t time);
std::string now_rfc3339();

ObjectKey key_of(const Json& object);
/// Deleted, but kept by a finalizer.
bool is_terminating(const Json& object);
bool has_finalizers(const Json& object);

/// Labels, annotations, name and finalizers are well-formed.
std::optional<StatusError> validate_metadata(const Json& object, const Resource& resource);

/// The metadata of a new object of this name: uid, times and what else clients cannot choose.
void fill_system_metadata(Json& object, const Resource& resource, const std::string& ns);

/// The metadata that an update cannot change, restored from `current`. Refused when the client
/// tried to, or wrote against another version.
std::optional<StatusError> preserve_system_metadata(Json& object, const Json& current,
                                                    const Resource& resource);

}  // namespace kindlb::apiserver

#pragma once
// meta.k8s.io/v1 Tables: the rows and columns that `kubectl get` prints.

#include "json.hpp"
#include "schema/resources.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace kindlb::apiserver {

/// `resource_version` of the list; empty for a single object.
Json to_table(const Resource& resource, std::span<const Json> objects,
              const std::string& resource_version);

/// Format an age as kubectl does: "5s", "2m10s", "3d4h".
std::string human_duration(std::int64_t seconds);

}  // namespace kindlb::apiserver

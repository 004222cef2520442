#pragma once
// Where things live in the API. Names are escaped: whatever they hold, they stay one segment.

#include "kindlb/core/service.hpp"

#include <string>

namespace kindlb::kube {

inline constexpr const char* kServicesPath = "/api/v1/services";
inline constexpr const char* kSlicesPath = "/apis/discovery.k8s.io/v1/endpointslices";
inline constexpr const char* kNodesPath = "/api/v1/nodes";

std::string service_path(const core::ServiceKey& key);
std::string events_path(const std::string& ns);

/// `token`: of the previous page; empty for the first.
std::string list_target(const std::string& path, const std::string& token);
std::string watch_target(const std::string& path, const std::string& resource_version,
                         int timeout_seconds);

}  // namespace kindlb::kube

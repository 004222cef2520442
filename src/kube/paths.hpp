#pragma once
// Request targets of the API. Names are escaped: whatever they contain, they stay one path segment.
// Pure.

#include "kindlb/core/service.hpp"

#include <string>

namespace kindlb::kube {

inline constexpr const char* kServicesPath = "/api/v1/services";
inline constexpr const char* kSlicesPath = "/apis/discovery.k8s.io/v1/endpointslices";
inline constexpr const char* kNodesPath = "/api/v1/nodes";

std::string service_path(const core::ServiceKey& key);
std::string events_path(const std::string& ns);

/// Return the target of one page of a list. `path` may end with a query ("?labelSelector=...").
/// `token`: the continue token of the previous page; empty for the first. No resourceVersion is
/// given: the list is then as fresh as etcd (quorum read), which a new list after a 410 or an error
/// must be.
std::string list_target(const std::string& path, const std::string& token);
/// Return the target of a watch that continues after `resource_version`, with bookmarks. The server
/// ends it after `timeout_seconds`.
std::string watch_target(const std::string& path, const std::string& resource_version,
                         int timeout_seconds);

}  // namespace kindlb::kube

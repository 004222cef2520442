#pragma once
// The resources that the API server has: a fixed table. Each resource exists once, so its address
// identifies it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::apiserver {

struct Resource {
  std::string group;  ///< empty: the core group
  std::string version;
  std::string plural;
  std::string singular;
  std::string kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  bool has_status = false;  ///< has the status subresource

  /// "v1", "discovery.k8s.io/v1"
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// "/api/v1", "/apis/discovery.k8s.io/v1"
  std::string prefix() const { return (group.empty() ? "/api/" : "/apis/") + api_version(); }
};

std::span<const Resource> resources();
/// Null: unknown.
const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view plural);

const Resource& namespaces();
const Resource& services();
const Resource& endpoint_slices();
const Resource& nodes();
const Resource& events();
const Resource& pods();
const Resource& leases();

}  // namespace kindlb::apiserver

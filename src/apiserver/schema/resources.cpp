#include "schema/resources.hpp"

#include "kindlb/core/assert.hpp"

#include <array>

namespace kindlb::apiserver {

namespace {
const std::array<Resource, 7>& table() {
  static const std::array<Resource, 7> kTable{{
      {.group = "",
       .version = "v1",
       .plural = "namespaces",
       .singular = "namespace",
       .kind = "Namespace",
       .short_names = {"ns"},
       .namespaced = false,
       .has_status = true},
      {.group = "",
       .version = "v1",
       .plural = "services",
       .singular = "service",
       .kind = "Service",
       .short_names = {"svc"},
       .categories = {"all"},
       .has_status = true},
      {.group = "",
       .version = "v1",
       .plural = "nodes",
       .singular = "node",
       .kind = "Node",
       .short_names = {"no"},
       .namespaced = false,
       .has_status = true},
      {.group = "",
       .version = "v1",
       .plural = "pods",
       .singular = "pod",
       .kind = "Pod",
       .short_names = {"po"},
       .categories = {"all"},
       .has_status = true},
      {.group = "",
       .version = "v1",
       .plural = "events",
       .singular = "event",
       .kind = "Event",
       .short_names = {"ev"}},
      {.group = "discovery.k8s.io",
       .version = "v1",
       .plural = "endpointslices",
       .singular = "endpointslice",
       .kind = "EndpointSlice"},
      {.group = "coordination.k8s.io",
       .version = "v1",
       .plural = "leases",
       .singular = "lease",
       .kind = "Lease"},
  }};
  return kTable;
}

const Resource& named(std::string_view plural) {
  for (const auto& resource : table())
    if (resource.plural == plural) return resource;
  KINDLB_ASSERT(false);
  return table().front();
}
}  // namespace

std::span<const Resource> resources() {
  return table();
}

const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view plural) {
  for (const auto& resource : table())
    if (resource.group == group && resource.version == version && resource.plural == plural)
      return &resource;
  return nullptr;
}

const Resource& namespaces() {
  return named("namespaces");
}
const Resource& services() {
  return named("services");
}
const Resource& endpoint_slices() {
  return named("endpointslices");
}
const Resource& nodes() {
  return named("nodes");
}
const Resource& events() {
  return named("events");
}
const Resource& pods() {
  return named("pods");
}
const Resource& leases() {
  return named("leases");
}

}  // namespace kindlb::apiserver

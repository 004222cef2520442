#pragma once
// The objects of one cluster as last seen: Services, EndpointSlices, Nodes. A plain value, owned by
// the loop's thread; not thread-safe. Each change returns the Services it concerns, so that only
// those are planned again; a Node concerns all of them.
//
// Objects arrive from two sources, the watch and the answers to our writes, and a relist may be
// older than either. For a Service of the same uid, an older resourceVersion never replaces a newer
// one.

#include "kindlb/core/backends.hpp"
#include "kindlb/core/service.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::controller {

class Store {
 public:
  using Keys = std::set<core::ServiceKey>;

  // Each returns the Services to be planned again.
  Keys replace_services(std::vector<core::Service> all);
  /// Ignored if older than what is known.
  Keys put_service(core::Service service);
  Keys remove_service(const core::ServiceKey& key);
  Keys replace_slices(std::vector<core::EndpointSlice> all);
  Keys put_slice(core::EndpointSlice slice);
  Keys remove_slice(const std::string& ns, const std::string& name);
  Keys replace_nodes(std::vector<core::Node> all);
  /// Returns no key if nothing relevant changed (a heartbeat, for example).
  Keys put_node(core::Node node);
  Keys remove_node(const std::string& name);
  /// Set the nodes whose containers do not run, whatever the API says of them. Also applies to
  /// nodes that are added later.
  Keys set_halted(const std::set<std::string>& names);

  /// Return whether all three resources have been listed; before that, absence means nothing.
  bool synced() const { return service_lists_ > 0 && slices_listed_ && nodes_listed_; }
  /// Return how often the Services were listed: a new list follows a lost connection.
  std::size_t service_lists() const { return service_lists_; }

  const core::Service* service(const core::ServiceKey& key) const;
  core::Slices slices_of(const core::ServiceKey& key) const;
  const core::Nodes& nodes() const { return nodes_; }
  const std::map<core::ServiceKey, core::Service>& services() const { return services_; }

 private:
  using SliceId = std::pair<std::string, std::string>;  ///< namespace, name

  Keys all_keys() const;

  std::map<core::ServiceKey, core::Service> services_;
  std::map<SliceId, core::EndpointSlice> slices_;
  std::map<core::ServiceKey, std::set<SliceId>> slices_by_service_;
  core::Nodes nodes_;
  std::set<std::string> halted_;
  std::size_t service_lists_ = 0;
  bool slices_listed_ = false;
  bool nodes_listed_ = false;
};

/// Return whether resourceVersion `candidate` is older than `known`. API servers use etcd's
/// revision, which only grows. Versions that are not numbers count as newer, so that at worst an
/// old object is planned once and then replaced.
bool is_older(const std::string& candidate, const std::string& known);

}  // namespace kindlb::controller

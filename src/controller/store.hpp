#pragma once
// The last seen objects of one cluster. A value owned by the loop's thread; not thread-safe.
// Answers which Services a change concerns, so that only those are planned again.

#include "kindlb/core/backends.hpp"
#include "kindlb/core/service.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::controller {

class Store {
 public:
  using Keys = std::set<core::ServiceKey>;

  /// Each returns the Services to be planned again.
  Keys replace_services(std::vector<core::Service> all);
  /// Older than what is known (by resourceVersion, for the same uid): ignored.
  Keys put_service(core::Service service);
  Keys remove_service(const core::ServiceKey& key);
  Keys replace_slices(std::vector<core::EndpointSlice> all);
  Keys put_slice(core::EndpointSlice slice);
  Keys remove_slice(const std::string& ns, const std::string& name);
  Keys replace_nodes(std::vector<core::Node> all);
  /// Nothing that matters changed (a heartbeat, say): no key.
  Keys put_node(core::Node node);
  Keys remove_node(const std::string& name);
  /// The nodes that the engine knows to stand still, whatever the API says of them.
  Keys set_halted(const std::set<std::string>& names);

  /// All three resources have been listed once.
  bool synced() const { return services_listed_ && slices_listed_ && nodes_listed_; }

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
  bool services_listed_ = false;
  bool slices_listed_ = false;
  bool nodes_listed_ = false;
};

/// True when `candidate` is older than `known`. Versions that are not numbers count as newer.
bool is_older(const std::string& candidate, const std::string& known);

}  // namespace kindlb::controller

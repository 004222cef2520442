#pragma once
// The watches of one cluster, feeding the reconciler's store through the loop.
//
// The observer's methods are called on the watches' threads and only post. Destroying the feed ends
// and joins these threads, so it blocks: not on the loop's thread. What was posted before and has
// not run by then is dropped, so that a replaced feed cannot overwrite what its successor lists.

#include "kindlb/kube/api.hpp"
#include "loop.hpp"
#include "reconciler/reconciler.hpp"

#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace kindlb::controller {

class ClusterFeed final : public kube::Observer {
 public:
  ClusterFeed(Loop& loop, Reconciler& reconciler, std::string cluster,
              const std::shared_ptr<http::Client>& client);
  ~ClusterFeed() override;

  void services_listed(std::vector<core::Service> all) override;
  void service_changed(core::Service service) override;
  void service_deleted(const core::ServiceKey& key) override;
  void slices_listed(std::vector<core::EndpointSlice> all) override;
  void slice_changed(core::EndpointSlice slice) override;
  void slice_deleted(const std::string& ns, const std::string& name) override;
  void nodes_listed(std::vector<core::Node> all) override;
  void node_changed(core::Node node) override;
  void node_deleted(const std::string& name) override;
  void watch_state(const std::string& resource, const core::Result<void>& state) override;

 private:
  void post(std::function<Store::Keys(Store&)> edit);

  Loop& loop_;
  Reconciler& reconciler_;
  const std::string cluster_;
  std::mutex mutex_;               ///< guards failing_
  std::set<std::string> failing_;  ///< resources whose watch was reported broken
  /// Posted tasks hold a weak reference: expired means that the feed is gone.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::unique_ptr<kube::Reflectors> reflectors_;  // last: its threads use the other members
};

}  // namespace kindlb::controller

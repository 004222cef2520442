#include "cluster_feed.hpp"

#include "kindlb/log/log.hpp"

#include <utility>

namespace kindlb::controller {

ClusterFeed::ClusterFeed(Loop& loop, Reconciler& reconciler, std::string cluster,
                         const std::shared_ptr<http::Client>& client)
    : loop_(loop),
      reconciler_(reconciler),
      cluster_(std::move(cluster)),
      reflectors_(kube::start_reflectors(client, cluster_, *this)) {}

ClusterFeed::~ClusterFeed() = default;

void ClusterFeed::post(std::function<Store::Keys(Store&)> edit) {
  loop_.post([&reconciler = reconciler_, cluster = cluster_, edit = std::move(edit),
              alive = std::weak_ptr<const bool>(alive_)] {
    if (!alive.expired()) reconciler.update(cluster, edit);
  });
}

void ClusterFeed::services_listed(std::vector<core::Service> all) {
  post([all = std::move(all)](Store& store) { return store.replace_services(all); });
}

void ClusterFeed::service_changed(core::Service service) {
  post([service = std::move(service)](Store& store) { return store.put_service(service); });
}

void ClusterFeed::service_deleted(const core::ServiceKey& key) {
  post([key](Store& store) { return store.remove_service(key); });
}

void ClusterFeed::slices_listed(std::vector<core::EndpointSlice> all) {
  post([all = std::move(all)](Store& store) { return store.replace_slices(all); });
}

void ClusterFeed::slice_changed(core::EndpointSlice slice) {
  post([slice = std::move(slice)](Store& store) { return store.put_slice(slice); });
}

void ClusterFeed::slice_deleted(const std::string& ns, const std::string& name) {
  post([ns, name](Store& store) { return store.remove_slice(ns, name); });
}

void ClusterFeed::nodes_listed(std::vector<core::Node> all) {
  post([all = std::move(all)](Store& store) { return store.replace_nodes(all); });
}

void ClusterFeed::node_changed(core::Node node) {
  post([node = std::move(node)](Store& store) { return store.put_node(node); });
}

void ClusterFeed::node_deleted(const std::string& name) {
  post([name](Store& store) { return store.remove_node(name); });
}

void ClusterFeed::watch_state(const std::string& resource, const core::Result<void>& state) {
  const std::lock_guard lock(mutex_);
  if (state.ok()) {
    const bool again = failing_.erase(resource) > 0;
    log::write(again ? log::Level::Info : log::Level::Debug, "cluster {}: watching {}{}", cluster_,
               resource, again ? " again" : "");
    return;
  }
  // Warn once: the reflector retries until it works.
  const bool news = failing_.insert(resource).second;
  log::write(news ? log::Level::Warn : log::Level::Debug, "cluster {}: cannot watch {}: {}",
             cluster_, resource, state.error().text());
}

}  // namespace kindlb::controller

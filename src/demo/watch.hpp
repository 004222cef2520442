#pragma once
// What the demo knows of the API: all Services of type LoadBalancer, their endpoints, and a journal
// of what has changed. The reflectors' threads fill it, the demo's thread reads it; every method
// may be called from any thread.

#include "kindlb/kube/api.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::demo {

/// One entry of the journal.
struct Change {
  std::chrono::system_clock::time_point at;
  std::string service;
  std::string what;
};

class Watch final : public kube::Observer {
 public:
  using Services = std::map<std::string, core::Service>;

  /// Return the Services of type LoadBalancer by name.
  Services services() const;
  bool has_ready_endpoints(const std::string& service) const;
  /// Return the journal from entry `from` on, counted from 0. Entries are never removed.
  std::vector<Change> changes(std::size_t from) const;
  /// Wait until the journal has more than `from` entries; return false if the limit passed first.
  bool wait(std::size_t from, std::chrono::milliseconds limit, const std::stop_token& stop);

  // kube::Observer, called by the reflectors' threads. Nodes do not matter to the demo.
  void services_listed(std::vector<core::Service> all) override;
  void service_changed(core::Service service) override;
  void service_deleted(const core::ServiceKey& key) override;
  void slices_listed(std::vector<core::EndpointSlice> all) override;
  void slice_changed(core::EndpointSlice slice) override;
  void slice_deleted(const std::string& ns, const std::string& name) override;
  void nodes_listed(std::vector<core::Node>) override {}
  void node_changed(core::Node) override {}
  void node_deleted(const std::string&) override {}
  void watch_state(const std::string&, const core::Result<void>&) override {}

 private:
  /// Append to the journal. The caller holds the lock.
  void note(const std::string& service, std::string what);

  mutable std::mutex mutex_;
  std::condition_variable_any news_;
  Services services_;
  std::map<std::string, core::EndpointSlice> slices_;  ///< by namespace/name
  std::vector<Change> changes_;
};

}  // namespace kindlb::demo

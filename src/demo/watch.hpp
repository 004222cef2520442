#pragma once
// What the demo knows: all Services and who is behind them, by watching the API as anybody could.
// Safe from any thread.

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

/// One thing that happened to a Service.
struct Change {
  std::chrono::system_clock::time_point at;
  std::string service;
  std::string what;
};

class Watch final : public kube::Observer {
 public:
  using Services = std::map<std::string, core::Service>;

  /// Of type LoadBalancer, by name.
  Services services() const;
  bool has_ready_endpoints(const std::string& service) const;
  /// Those since number `from`, which counts from 0.
  std::vector<Change> changes(std::size_t from) const;
  /// Waits for a change after number `from`, or the limit. False: it has not come.
  bool wait(std::size_t from, std::chrono::milliseconds limit, const std::stop_token& stop);

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
  void note(const std::string& service, std::string what);

  mutable std::mutex mutex_;
  std::condition_variable_any news_;
  Services services_;
  std::map<std::string, core::EndpointSlice> slices_;
  std::vector<Change> changes_;
};

}  // namespace kindlb::demo

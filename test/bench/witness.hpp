#pragma once
// Watches the API as a user would and notes when things were first seen. Thread-safe.

#include "kindlb/kube/api.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace kindlb::bench {

using Moment = std::chrono::steady_clock::time_point;

struct Sighting {
  std::optional<Moment> slice;    ///< an EndpointSlice with a ready endpoint
  std::optional<Moment> serving;  ///< Serving=True with an address
  std::string ip;
  std::string resource_version;
};

class Witness final : public kube::Observer {
 public:
  explicit Witness(std::shared_ptr<http::Client> client);

  /// Nothing: not within the limit.
  std::optional<Sighting> wait_serving(const std::string& service, std::chrono::seconds limit);
  bool wait_gone(const std::string& service, std::chrono::seconds limit);
  Sighting sighting(const std::string& service);

  void services_listed(std::vector<core::Service> all) override;
  void service_changed(core::Service service) override;
  void service_deleted(const core::ServiceKey& key) override;
  void slices_listed(std::vector<core::EndpointSlice> all) override;
  void slice_changed(core::EndpointSlice slice) override;
  void slice_deleted(const std::string&, const std::string&) override {}
  void nodes_listed(std::vector<core::Node>) override {}
  void node_changed(core::Node) override {}
  void node_deleted(const std::string&) override {}
  void watch_state(const std::string&, const core::Result<void>&) override {}

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Sighting> seen_;
  std::unique_ptr<kube::Reflectors> reflectors_;
};

}  // namespace kindlb::bench

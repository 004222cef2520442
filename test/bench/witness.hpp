#pragma once
// Watches the API as a user would and notes when things were first seen. Thread-safe.

#include "kindlb/kube/api.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
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

/// Changes of Services in the API, by whomever.
struct Writes {
  std::size_t count = 0;
  Moment last = std::chrono::steady_clock::now();
  std::string service;  ///< of the last one
};

class Witness final : public kube::Observer {
 public:
  explicit Witness(std::shared_ptr<http::Client> client);

  /// Nothing: not within the limit.
  std::optional<Sighting> wait_serving(const std::string& service, std::chrono::seconds limit);
  bool wait_gone(const std::string& service, std::chrono::seconds limit);
  Sighting sighting(const std::string& service);
  /// Return what was seen so far. A version that was replaced while no watch was open is missing.
  Writes writes();

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
  void note_write(const std::string& service);  ///< with the lock held

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Sighting> seen_;
  Writes writes_;
  std::unique_ptr<kube::Reflectors> reflectors_;
};

}  // namespace kindlb::bench

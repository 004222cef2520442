#pragma once
// Every version of every Service of a run, from one watch on a thread of its own. Tests wait here
// for the next version, and the judge gets all of them at the end (judge_versions()). Thread-safe.
//
// What a test decides does not depend on the watch: tests read their Service, then wait until the
// watch has come as far. While it is broken, or where watching is not allowed, what they have read
// is recorded instead (add_read()), and with it that versions may be missing.

#include "kindlb/kube/objects.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::conformance {

struct ServiceVersion {
  core::Service service;
  bool follows = true;  ///< see ObservedVersion::follows
};

class ServiceWatch final : private kube::ObjectObserver {
 public:
  /// `collection`: the path of the Services, with a selector. `objects` must outlive the watch.
  ServiceWatch(kube::Objects& objects, std::string collection);
  ~ServiceWatch() override = default;
  ServiceWatch(const ServiceWatch&) = delete;
  ServiceWatch& operator=(const ServiceWatch&) = delete;

  /// Return the newest version of a Service, once it is `version` or a later one. Nothing: the
  /// watch is broken, or late by more than a few seconds, which counts as broken until it goes on.
  std::optional<core::Service> newest(const std::string& name, const std::string& version,
                                      const std::stop_token& stop);
  /// Wait until there is a later version than this one, for `limit` at most.
  void await_later(const std::string& name, const std::string& version,
                   std::chrono::milliseconds limit, const std::stop_token& stop);
  /// Record a version that was read. One that is not newer than the newest is ignored.
  void add_read(core::Service service);
  std::vector<ServiceVersion> versions(const std::string& name) const;
  /// The last failure of the watch; empty: it has never failed.
  std::string last_failure() const;

 private:
  void listed(const std::vector<nlohmann::json>& all) override;
  void changed(const nlohmann::json& object) override;
  void deleted(const nlohmann::json& object) override;
  void watch_state(const core::Result<void>& state) override;
  void add(core::Service service, bool follows);
  bool has_reached(const std::string& name, const std::string& version) const;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool broken_ = false;
  bool listed_ = false;  ///< at least once
  std::string last_failure_;
  std::map<std::string, std::vector<ServiceVersion>> services_;  ///< by name
  std::jthread thread_;  ///< last: it ends before the rest goes
};

}  // namespace kindlb::conformance

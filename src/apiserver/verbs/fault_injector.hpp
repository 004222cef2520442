#pragma once
// Fault injection for tests and demonstrations. Faults are added through the endpoint
// /sandbox/faults and fail the next requests that match them. Thread-safe.

#include "json.hpp"
#include "status_error.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct Fault {
  /// conflict (409), too-many (429), error (500), expired (410), slow (a delayed response)
  std::string kind;
  std::string verb;      ///< get, list, watch, create, update, patch, delete; empty: any
  std::string resource;  ///< plural; empty: any
  int times = 1;         ///< how many matching requests fail
  int retry_after = 1;   ///< seconds, for too-many
  std::chrono::milliseconds delay{1000};  ///< for slow
};

class FaultInjector {
 public:
  /// Parse {"kind": "conflict", "verb": "patch", "resource": "services", "times": 3}
  static ApiResult<Fault> parse(const Json& json);

  void add(Fault fault);
  void clear();
  Json to_json() const;
  /// End all current watches, as a restart of the API server would.
  void drop_watches();
  /// How often drop_watches() was called. A watch ends when this differs from its start.
  std::uint64_t watch_drops() const;

  /// Return the first fault that matches a request, and count it down.
  std::optional<Fault> next(const std::string& verb, const std::string& resource);

 private:
  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::uint64_t watch_drops_ = 0;
};

}  // namespace kindlb::apiserver

#pragma once
// Failures on demand, for tests and demonstrations: told to the control endpoint, consumed by the
// requests they match. Safe from any thread.

#include "json.hpp"
#include "status_error.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct Fault {
  /// conflict (409), too-many (429), error (500), expired (410), slow (answers late)
  std::string kind;
  std::string verb;      ///< get, list, watch, create, update, patch, delete; empty: any
  std::string resource;  ///< plural; empty: any
  int times = 1;         ///< how many requests it takes
  int retry_after = 1;   ///< seconds, for too-many
  std::chrono::milliseconds delay{1000};  ///< for slow
};

class FaultInjector {
 public:
  /// {"kind": "conflict", "verb": "patch", "resource": "services", "times": 3}
  static ApiResult<Fault> parse(const Json& json);

  void add(Fault fault);
  void clear();
  Json to_json() const;
  /// Ends every watch that runs now.
  void drop_watches();
  /// Grows with each drop_watches().
  std::uint64_t watch_drops() const;

  /// The fault that this request meets, if any; it is used up by that.
  std::optional<Fault> next(const std::string& verb, const std::string& resource);

 private:
  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::uint64_t watch_drops_ = 0;
};

}  // namespace kindlb::apiserver

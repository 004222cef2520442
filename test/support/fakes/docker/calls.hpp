#pragma once
// What the parts of a FakeEngine share: a journal of the calls made, faults on demand, and ids.
// Thread-safe; the hook runs without a lock and may call the engine.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/labels.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::testing {

class FakeCalls {
 public:
  using Strings = std::vector<std::string>;
  using Hook = std::function<void(const std::string& operation, const std::string& subject)>;

  /// Called on the caller's thread before each journalled call: to block, to count, to interfere.
  void on_call(Hook hook);
  /// The next `times` calls of that operation ("create_container") fail, after those scripted
  /// before.
  void fail_next(const std::string& operation, core::Error error, int times = 1);

  Strings journal() const;  ///< "create_container kindlb-warm-0a1b2c3d", in order
  std::size_t count(const std::string& operation) const;  ///< in the journal

  /// For the parts: journals the call and gives the fault scripted for it, if any. `name`: how the
  /// journal calls the subject, if that is not how the caller does.
  std::optional<core::Error> enter(const std::string& operation, const std::string& subject,
                                   const std::string& name = {});
  std::string new_id();

 private:
  mutable std::mutex mutex_;
  Hook hook_;
  std::map<std::string, std::deque<core::Error>> faults_;
  Strings journal_;
  std::uint64_t ids_ = 0;
};

/// As the engine's filter: each "key" or "key=value".
bool has_labels(const docker::Labels& labels, const std::vector<std::string>& wanted);

core::Error not_found(const std::string& operation, const std::string& what);

}  // namespace kindlb::testing

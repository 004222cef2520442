#pragma once
// What a test works with: waiting, notes, outcomes, and pods of its own. Lives as long as its test,
// on the test's thread. Steps of a test return its outcome if the test is over, else nothing:
//   if (auto end = web.publish({})) return *end;

#include "environment.hpp"
#include "kindlb/base/sleep.hpp"
#include "kindlb/core/ip.hpp"
#include "test.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::conformance {

/// The outcome of a test that ends here; nothing: the test goes on.
using EarlyEnd = std::optional<Outcome>;

class TestContext {
 public:
  TestContext(Environment& env, const Test& test);
  ~TestContext();  ///< removes the pods that the test started, without waiting
  TestContext(const TestContext&) = delete;
  TestContext& operator=(const TestContext&) = delete;

  Environment& env() { return env_; }
  const Test& test() const { return test_; }
  Requirements requirements(bool declared) const {
    return {test_.optional && !supported_, test_.features, declared};
  }
  bool writes_conditions() const { return env_.provider == Provider::WithConditions; }
  /// The limit for effects that no condition reports. kube-proxy may be the one that applies them:
  /// it has what the KEP calls its maximum lag. Without conditions, provisioning itself is among
  /// these effects.
  milliseconds propagation_timeout() const {
    const auto& limits = env_.settings.limits;
    return writes_conditions() ? limits.conditions : limits.provisioning;
  }

  /// Report the Service's conditions if they have changed.
  void report_status(const std::string& state);
  /// Report what the test waits for, and sleep for one poll interval. Return false if stopped.
  bool report_and_wait(const std::string& what, milliseconds waited) const;
  void note(std::string line) { notes_.push_back(std::move(line)); }
  std::vector<std::string> take_notes() { return std::move(notes_); }

  /// Record that the test has created this Service.
  void add_service(const std::string& name) { services_.push_back(name); }
  /// Judge every version of the test's Services; see judge_versions().
  std::vector<std::string> broken_rules() const;
  /// Return whether versions of the test's Services may have been missed.
  bool missed_versions() const;

  /// Record that the feature under test has worked: a later failure cannot be excused by the
  /// feature being unsupported, so it no longer skips the test.
  void mark_supported() { supported_ = true; }
  /// Return the outcome of a test that went wrong: Fail, or Skip if the test is optional and the
  /// provider writes no conditions, since "unsupported" and "broken" then look the same.
  Outcome fail(const std::string& why) const;
  /// For an error of the API server, which is not the provider's fault and never skips.
  Outcome fail(const core::Error& error) const;
  bool pause(milliseconds time) const { return base::sleep_for(env_.stop, time); }
  /// Poll until `holds` returns true or the limit has passed. `what` completes "waiting for ...".
  EarlyEnd wait_for(const std::string& what, milliseconds limit,
                    const std::function<bool()>& holds) const;

  // ---- pods of this test alone, with the label app=<name of the test>
  Json selector() const { return {{"app", test_.name}}; }
  /// Start a pod and wait until it is ready. `node` empty: the scheduler chooses.
  EarlyEnd start_pod(const std::string& name, const std::string& node = "");
  /// Delete a pod and wait until it is gone.
  EarlyEnd remove_pod(const std::string& name);
  /// Start a pod on each of at most `most_nodes` nodes. Their shutdown is delayed as in
  /// pod_template().
  EarlyEnd start_daemon_set(std::size_t most_nodes, int shutdown_delay);
  /// Replace all of them, one after the other; each has a successor on its node before it ends.
  EarlyEnd roll_daemon_set(int round);
  /// Wait until the replaced pods have ended. Traffic that is still sent to them shows only then.
  EarlyEnd await_replaced();

 private:
  std::string pod_path(const std::string& name) const;
  /// The pods that selector() selects.
  std::string pods_path() const;
  EarlyEnd await_daemon_set(int round) const;

  Environment& env_;
  const Test& test_;
  bool supported_ = false;
  std::string seen_;
  std::vector<std::string> notes_;
  std::vector<std::string> services_;  ///< names
  std::size_t daemon_count_ = 0;       ///< expected number of pods
  std::vector<std::string> created_;   ///< API paths, in the order of removal
};

}  // namespace kindlb::conformance

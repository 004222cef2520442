#pragma once
// A test's hands. Each step gives the end of the test, or nothing when it goes on:
//   if (auto end = web.publish({})) return *end;

#include "environment.hpp"
#include "kindlb/core/ip.hpp"
#include "test.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::conformance {

using EarlyEnd = std::optional<Outcome>;

class TestContext {
 public:
  TestContext(Environment& env, const Test& test);
  ~TestContext();  ///< removes the pods it started
  TestContext(const TestContext&) = delete;
  TestContext& operator=(const TestContext&) = delete;

  Environment& env() { return env_; }
  const Test& test() const { return test_; }
  Requirements requirements(bool declared) const {
    return {test_.optional && !supported_, test_.features, declared};
  }
  bool writes_conditions() const { return env_.provider == Provider::WithConditions; }
  /// For what no condition tells of: kube-proxy's "maximum lag", or all there is to go by.
  milliseconds propagation_timeout() const {
    const auto& limits = env_.settings.limits;
    return writes_conditions() ? limits.conditions : limits.provisioning;
  }

  /// The conditions that the Service has now.
  void report_status(const std::string& state);
  /// Tells of a wait, and waits a moment. False when stopped meanwhile.
  bool report_and_wait(const std::string& what, milliseconds waited) const;
  void note(std::string line) { notes_.push_back(std::move(line)); }
  std::vector<std::string> take_notes() { return std::move(notes_); }

  /// What the test is about has worked: what goes wrong from now on is not for lack of it.
  void mark_supported() { supported_ = true; }
  /// The end of a test that went wrong: without conditions, what is optional cannot be judged.
  Outcome fail(const std::string& why) const;
  /// Of the API: no fault of the provider's.
  Outcome fail(const core::Error& error) const;
  bool pause(milliseconds time) const { return conformance::pause(env_.stop, time); }
  /// Asks again and again. `what` is for people: "until <what>", "not <what> after 30 s".
  EarlyEnd until(const std::string& what, milliseconds limit,
                 const std::function<bool()>& holds) const;

  // ---- pods of this test alone, with the label app=<the test's name>
  Json selector() const { return {{"app", test_.name}}; }
  /// Ready when it returns. `node` empty: wherever there is room.
  EarlyEnd start_pod(const std::string& name, const std::string& node = "");
  /// Gone when it returns.
  EarlyEnd remove_pod(const std::string& name);
  /// A pod on each of at most so many nodes; told to end, they go on answering for some seconds.
  EarlyEnd start_daemon_set(std::size_t most_nodes, int shutdown_delay);
  /// Replaces all of them, one after the other; each is replaced on its node before it ends.
  EarlyEnd roll_daemon_set(int round);
  /// Until those that were replaced have ended: what happens then is part of it.
  EarlyEnd await_replaced();

 private:
  std::string pod_path(const std::string& name) const;
  /// Those with the label of selector().
  std::string pods_path() const;
  EarlyEnd await_daemon_set(int round) const;

  Environment& env_;
  const Test& test_;
  bool supported_ = false;
  std::string seen_;
  std::vector<std::string> notes_;
  std::size_t daemon_count_ = 0;      ///< how many there must be
  std::vector<std::string> created_;  ///< paths, to remove at the end
};

}  // namespace kindlb::conformance

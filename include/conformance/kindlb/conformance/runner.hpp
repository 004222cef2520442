#pragma once
// Runs the tests of KEP-4631's plan against whatever provides load balancers in a cluster. Makes a
// namespace and workloads of its own, or uses pods that are there, and removes what it made, also
// after a stop. Knows nothing of kindlb as a provider.

#include "kindlb/conformance/report.hpp"
#include "kindlb/conformance/settings.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/kube/objects.hpp"

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::conformance {

/// Told from several threads, never concurrently.
class Listener {
 public:
  virtual ~Listener() = default;
  /// About the whole run.
  virtual void message(const std::string& line) = 0;
  virtual void tests_started(std::size_t /*tests*/) {}
  /// The conditions of a test's Service have changed: "Serving=True/Serving, ...".
  virtual void status_changed(const std::string& /*test*/, const std::string& /*state*/) {}
  /// Several times a second, for as long as a test waits: "waiting until the pods ready". Empty: it
  /// goes on.
  virtual void waiting(const std::string& /*test*/, const std::string& /*what*/,
                       milliseconds /*waited*/) {}
  virtual void test_finished(const TestResult& result) = 0;
  /// All tests are over, and what they made is still being removed. That adds remarks at most.
  virtual void tests_finished(const Report& /*report*/) {}
};

/// Fails only when it cannot begin; whatever happens later is in the Report.
core::Result<Report> run(kube::Objects& objects, const Settings& settings, Listener& listener,
                         std::stop_token stop);

/// Those that `focus` chooses, in the order of the KEP.
std::vector<TestInfo> list_tests(const std::string& focus);

/// On everything a run makes; the value tells the run.
inline constexpr const char* kRunLabel = "kindlb.dev/conformance";

/// What earlier runs left behind, "namespace x", "service y/z". A run that is still going on looks
/// the same.
core::Result<std::vector<std::string>> find_leftovers(kube::Objects& objects);
/// Removes it and waits until it is gone.
core::Result<void> remove_leftovers(kube::Objects& objects, Listener& listener,
                                    std::stop_token stop);

}  // namespace kindlb::conformance

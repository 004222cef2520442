#pragma once
// Runs the tests of KEP-4631's plan against the load-balancer provider of a cluster, whichever it
// is: nothing here knows kindlb as a provider. A run creates a namespace with pods, or uses
// existing pods, and removes everything it created, also after a stop.

#include "kindlb/conformance/report.hpp"
#include "kindlb/conformance/settings.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/kube/objects.hpp"

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::conformance {

/// Receives the progress of a run. Called from several threads, but never concurrently.
class Listener {
 public:
  virtual ~Listener() = default;
  /// A message about the run as a whole.
  virtual void message(const std::string& line) = 0;
  virtual void tests_started(std::size_t /*tests*/) {}
  /// The conditions of a test's Service have changed: "Serving=True/Serving, ...".
  virtual void status_changed(const std::string& /*test*/, const std::string& /*state*/) {}
  /// Called several times a second while a test waits: "waiting for the pods to be ready". An empty
  /// text ends the wait.
  virtual void waiting(const std::string& /*test*/, const std::string& /*what*/,
                       milliseconds /*waited*/) {}
  virtual void test_finished(const TestResult& result) = 0;
  /// All results are final; the clean-up follows and can only add remarks.
  virtual void tests_finished(const Report& /*report*/) {}
};

/// Run the tests that the settings select, and clean up. Return an error only if the tests could
/// not start; whatever happens later is in the Report. `stop` ends the tests, not the clean-up.
core::Result<Report> run(kube::Objects& objects, const Settings& settings, Listener& listener,
                         std::stop_token stop);

/// Return the tests whose names match the regular expression `focus`, in the order of the KEP.
std::vector<TestInfo> list_tests(const std::string& focus);

/// On everything that a run creates; the value identifies the run.
inline constexpr const char* kRunLabel = "kindlb.dev/conformance";

/// List what runs have left behind: "namespace x", "service y/z". A run that is still going on
/// cannot be told from one that was killed.
core::Result<std::vector<std::string>> find_leftovers(kube::Objects& objects);
/// Remove all of it, and wait until it is gone.
core::Result<void> remove_leftovers(kube::Objects& objects, Listener& listener,
                                    const std::stop_token& stop);

}  // namespace kindlb::conformance

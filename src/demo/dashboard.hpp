#pragma once
// All Services at a glance, kept up to date: what their conditions claim, and what a client sees.
// Invariant: each time LoadBalancerServing turns True or its transition time moves, the Service is
// probed once; a claim that the probe refutes is kept for false_claims(). Used by one thread.

#include "kindlb/core/policy.hpp"
#include "probe.hpp"
#include "screen.hpp"
#include "service_text.hpp"
#include "watch.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::demo {

class Dashboard {
 public:
  Dashboard(Screen& screen, Watch& watch, const core::Policy& policy,
            const docker::Network& network)
      : screen_(screen), watch_(watch), policy_(policy), network_(network) {}

  /// Take in what has changed, probe the Services that need it, and draw. `hints`: lines below the
  /// table.
  void refresh(const std::vector<std::string>& hints);
  /// Wait for the next change, at most a fraction of a second.
  void wait(const std::stop_token& stop);
  /// Whether none of these is being provisioned any more, and all that serve have been probed.
  bool settled(const std::vector<std::string>& names) const;
  /// Print the table as lines that stay.
  void print() const;
  /// "26 Services: 19 serve, 5 are refused..."
  std::string summary() const;
  /// Return the Services that claim to serve but did not answer, each with what happened.
  std::vector<std::string> false_claims() const;

 private:
  struct LastProbe {
    core::Timestamp since{};  ///< transition time of the Serving condition that was probed
    std::string answer;
    bool good = true;
  };

  /// Whether this provider is responsible: a Service of another class is shown, but nothing is
  /// expected of it.
  bool is_ours(const core::Service& service) const;
  /// Whether the Service claims to serve something that has not been probed yet.
  bool needs_probe(const core::Service& service) const;
  void probe_service(const core::Service& service);
  std::vector<Row> rows() const;
  /// The whole frame: table, last changes, hints, cut to the size of the terminal.
  std::vector<std::string> frame(const std::vector<std::string>& hints) const;
  std::vector<Row> rows_that_fit(std::vector<Row> rows, std::size_t count) const;

  // All of these outlive the dashboard.
  Screen& screen_;
  Watch& watch_;
  const core::Policy& policy_;
  const docker::Network& network_;
  std::size_t seen_ = 0;                          ///< changes of watch_ that have been taken in
  std::map<std::string, LastProbe> last_probes_;  ///< of Services that claim to serve now
  std::map<std::string, std::chrono::system_clock::time_point> changed_;
};

/// "12:34:56  web  Serving=True"
std::string change_line(const Change& change);

}  // namespace kindlb::demo

#pragma once
// All Services at a glance, kept up to date: what is told of them, and what a client hears. Every
// time a Service says that it serves something new, it is asked.

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

  /// Takes in what is new, asks who serves, and draws. `hints`: what stands below the table.
  void refresh(const std::vector<std::string>& hints);
  /// Waits for something to happen, for a moment.
  void wait(const std::stop_token& stop);
  /// Whether each of these has come to rest, and has been asked if it serves.
  bool settled(const std::vector<std::string>& names) const;
  /// The table as it is, as lines that stay.
  void print() const;
  /// "26 Services: 19 serve, 5 are refused..."
  std::string summary() const;
  /// Services that say they serve and did not answer.
  std::vector<std::string> false_claims() const;

 private:
  struct LastProbe {
    core::Timestamp since{};  ///< of the Serving condition that was put to the test
    std::string answer;
    bool good = true;
  };

  bool is_ours(const core::Service& service) const;
  bool needs_probe(const core::Service& service) const;
  void probe_service(const core::Service& service);
  std::vector<Row> rows() const;
  std::vector<std::string> frame(const std::vector<std::string>& hints) const;
  std::vector<Row> rows_that_fit(std::vector<Row> rows, std::size_t count) const;

  Screen& screen_;
  Watch& watch_;
  const core::Policy& policy_;
  const docker::Network& network_;
  std::size_t seen_ = 0;
  std::map<std::string, LastProbe> last_probes_;
  std::map<std::string, std::chrono::system_clock::time_point> changed_;
};

/// "12:34:56  web  Serving=True"
std::string change_line(const Change& change);

}  // namespace kindlb::demo

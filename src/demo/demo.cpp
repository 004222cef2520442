// The flow of the demo: apply the examples (or play the script), follow the Services until they
// have settled, sum up, and on a terminal stay until Ctrl-C. The exit code says whether every
// Service that claims to serve has answered.

#include "kindlb/demo/demo.hpp"

#include "api.hpp"
#include "dashboard.hpp"
#include "script.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

namespace kindlb::demo {

namespace {
using Clock = std::chrono::steady_clock;
using Lines = std::vector<std::string>;

/// How long all examples together may take to settle, on a busy machine.
constexpr std::chrono::seconds kSettleTimeout{120};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Lines hints(const sandbox::Session& session) {
  return {"Try next, in another terminal:",
          "  export KUBECONFIG=" + session.kubeconfig(),
          "  kubectl get services -w                   # or: kubectl describe service degraded",
          "  kubectl annotate service infrastructure-failure kindlb.dev/fault-infrastructure-",
          "  kindlb sandbox scale 5                    # also: kill, unready, ready POD",
          "Ctrl-C ends the demo and removes everything it created."};
}

Lines next_steps() {
  return {"Try next:",
          "  kindlb demo                               # on a terminal: stays until Ctrl-C",
          "  kindlb demo --script conditions           # the life of a Service, step by step",
          "  kindlb sandbox                            # the same without the table"};
}

/// Apply the examples; return the names of the Services.
core::Result<Lines> apply_examples(http::Client& api) {
  Lines names;
  for (const auto& file : embedded_examples()) {
    const auto applied = apply_manifest(api, std::string(file.text), std::string(file.name));
    if (!applied) return applied.error();
    names.push_back(*applied);
  }
  return names;
}

/// The order of the members matters: the reflectors write into watch_, so they start after it and
/// stop before it.
class Demo {
 public:
  Demo(const Settings& settings, const core::Policy& policy, sandbox::Session& session,
       std::stop_token stop)
      : settings_(settings),
        session_(session),
        stop_(std::move(stop)),
        reflectors_(kube::start_reflectors(session.client(), "sandbox", watch_)),
        dashboard_(screen_, watch_, policy, session.network()) {}

  /// A stop at any point ends the show without an error: the user asked for it.
  core::Result<int> show(Clock::time_point started) {
    screen_.say(fmt::format("The sandbox is up after {:.1f} s: API at {}", seconds_since(started),
                            session_.server().url()));
    auto code = settings_.script.empty() ? show_examples(started) : play_script();
    if (!stop_.stop_requested() && code) close(*code);
    screen_.keep();
    if (!stop_.stop_requested() && !code) return code;
    if (screen_.is_terminal()) screen_.say("Removing everything that the demo created.");
    return stop_.stop_requested() ? 0 : *code;
  }

 private:
  core::Result<int> play_script() {
    return run_script(condition_steps(), settings_, screen_, watch_, *session_.client(),
                      session_.network(), stop_);
  }

  /// All examples are applied at once, so that the time shown is that of a burst, not of a
  /// sequence.
  core::Result<int> show_examples(Clock::time_point started) {
    const auto names = apply_examples(*session_.client());
    if (!names) return names.error();
    const auto deadline = Clock::now() + kSettleTimeout;
    while (!dashboard_.settled(*names) && Clock::now() < deadline && !stop_.stop_requested()) {
      dashboard_.refresh({});
      dashboard_.wait(stop_);
    }
    if (stop_.stop_requested()) return 0;
    dashboard_.refresh({});
    if (!screen_.is_terminal()) {
      screen_.say("");
      dashboard_.print();
      screen_.say("");
    }
    return summarise(*names, started);
  }

  /// A Service that claims to serve and does not answer is a failure: LoadBalancerServing promises
  /// that connections are handled. A Service that is refused, or fails on purpose, is not.
  int summarise(const Lines& names, Clock::time_point started) {
    const auto false_claims = dashboard_.false_claims();
    outcome_ = {
        fmt::format("{}; shown in {:.1f} s.", dashboard_.summary(), seconds_since(started))};
    for (const auto& line : false_claims)
      outcome_.push_back("claims to serve, but does not answer: " + line);
    if (!dashboard_.settled(names))
      outcome_.emplace_back("some Services have not settled; see the table");
    return false_claims.empty() && dashboard_.settled(names) ? 0 : 1;
  }

  /// End with the summary and what to try next; on a terminal, go on showing until Ctrl-C.
  void close(int code) {
    if (screen_.is_terminal() && !settings_.once && code == 0) return follow_until_stopped();
    screen_.keep();
    for (const auto& line : outcome_) screen_.say(line);
    for (const auto& line : next_steps()) screen_.say(line);
  }

  /// Keeps probing what changes, so that the user's own experiments show in the table.
  void follow_until_stopped() {
    auto below = outcome_;
    for (auto& line : hints(session_)) below.push_back(std::move(line));
    while (!stop_.stop_requested()) {
      dashboard_.refresh(below);
      dashboard_.wait(stop_);
    }
  }

  const Settings& settings_;
  sandbox::Session& session_;
  const std::stop_token stop_;
  Screen screen_;
  Watch watch_;
  std::unique_ptr<kube::Reflectors> reflectors_;
  Dashboard dashboard_;
  Lines outcome_;
};
}  // namespace

core::Result<int> show(const Settings& settings, const core::Policy& policy,
                       sandbox::Session& session, Clock::time_point started,
                       const std::stop_token& stop) {
  return Demo(settings, policy, session, stop).show(started);
}

}  // namespace kindlb::demo

// `kindlb demo`: a sandbox that shows itself.

#include "app/demo_api.hpp"
#include "app/demo_board.hpp"
#include "app/demo_script.hpp"
#include "app/sandbox_playground.hpp"
#include "app/startup.hpp"
#include "kindlb/app/commands.hpp"

#include <fmt/format.h>

#include <utility>

namespace kindlb::app {

namespace {
using Clock = std::chrono::steady_clock;
using Lines = std::vector<std::string>;

constexpr std::chrono::seconds kStopPatience{60};
/// For all examples to come to rest, on a busy machine.
constexpr std::chrono::seconds kSettleTimeout{120};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Lines hints(const Playground& playground) {
  return {"Try next, in another terminal:",
          "  export KUBECONFIG=" + playground.kubeconfig(),
          "  kubectl get services -w                   # or: kubectl describe service degraded",
          "  kubectl annotate service infrastructure-failure kindlb.dev/fault-infrastructure-",
          "  kindlb sandbox scale 5                    # also: kill, unready, ready POD",
          "Ctrl-C ends the demo and removes all it made."};
}

Lines farewell() {
  return {"Try next:",
          "  kindlb demo                               # on a terminal: stays until Ctrl-C",
          "  kindlb demo --script conditions           # the life of a Service, step by step",
          "  kindlb sandbox                            # the same without the show"};
}

/// The examples, applied; their names.
core::Result<Lines> apply_examples(http::Client& api) {
  Lines names;
  for (const auto& file : embedded_examples()) {
    const auto applied = apply_manifest(api, std::string(file.text), std::string(file.name));
    if (!applied) return applied.error();
    names.push_back(*applied);
  }
  return names;
}

class Demo {
 public:
  Demo(const Options& options, Playground& playground, StopSignal& stop)
      : options_(options),
        playground_(playground),
        stop_(stop.token()),
        reflectors_(kube::start_reflectors(playground.client(), "sandbox", watch_)),
        board_(screen_, watch_, options.policy, playground.network()) {}

  int show(Clock::time_point started) {
    screen_.say(fmt::format("The sandbox is up after {:.1f} s: API at {}", seconds_since(started),
                            playground_.server().url()));
    const int code = options_.demo.script.empty() ? show_examples(started) : tell_story();
    if (!stop_.stop_requested()) close(code);
    screen_.keep();
    if (screen_.is_terminal()) screen_.say("Removing all it made.");
    return stop_.stop_requested() ? 0 : code;
  }

 private:
  int tell_story() {
    return run_script(condition_steps(), options_.demo, screen_, watch_, *playground_.client(),
                      playground_.network(), stop_);
  }

  int show_examples(Clock::time_point started) {
    const auto names = apply_examples(*playground_.client());
    if (!names) return complain(names.error());
    const auto deadline = Clock::now() + kSettleTimeout;
    while (!board_.settled(*names) && Clock::now() < deadline && !stop_.stop_requested()) {
      board_.refresh({});
      board_.wait(stop_);
    }
    if (stop_.stop_requested()) return 0;
    board_.refresh({});
    if (!screen_.is_terminal()) {
      screen_.say("");
      board_.print();
      screen_.say("");
    }
    return conclude(*names, started);
  }

  int conclude(const Lines& names, Clock::time_point started) {
    const auto liars = board_.liars();
    outcome_ = {fmt::format("{}; shown in {:.1f} s.", board_.summary(), seconds_since(started))};
    for (const auto& line : liars) outcome_.push_back("says it serves, and does not: " + line);
    if (!board_.settled(names)) outcome_.emplace_back("some have not come to rest: see the table");
    return liars.empty() && board_.settled(names) ? 0 : 1;
  }

  /// What to do next; on a terminal that is not yet the end.
  void close(int code) {
    if (screen_.is_terminal() && !options_.demo.once && code == 0) return stay();
    screen_.keep();
    for (const auto& line : outcome_) screen_.say(line);
    for (const auto& line : farewell()) screen_.say(line);
  }

  void stay() {
    auto below = outcome_;
    for (auto& line : hints(playground_)) below.push_back(std::move(line));
    while (!stop_.stop_requested()) {
      board_.refresh(below);
      board_.wait(stop_);
    }
  }

  const Options& options_;
  Playground& playground_;
  const std::stop_token stop_;
  DemoScreen screen_;
  DemoWatch watch_;
  std::unique_ptr<kube::Reflectors> reflectors_;
  DemoBoard board_;
  Lines outcome_;
};
}  // namespace

int demo(const Options& options) {
  const auto started = Clock::now();
  StopSignal stop(kStopPatience);
  const auto playground = Playground::make(options, stop);
  if (!playground) return stop.token().stop_requested() ? 0 : complain(playground.error());
  return Demo(options, **playground, stop).show(started);
}

}  // namespace kindlb::app

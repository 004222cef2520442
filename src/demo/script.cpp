#include "script.hpp"

#include "kindlb/base/sleep.hpp"
#include "kindlb/core/conditions.hpp"
#include "probe.hpp"

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <sstream>

namespace kindlb::demo {

namespace {
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kName = "story";
constexpr auto kStepTimeout = 60s;  ///< far more than any step takes, on a busy machine, too

/// Break a text into lines of at most `width` columns.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> out(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!out.back().empty() && out.back().size() + 1 + word.size() > width) out.emplace_back();
    out.back() += (out.back().empty() ? "" : " ") + word;
  }
  return out;
}

/// Plays one step after the other. Each step acts on the API, and is over when the Service has
/// reached the state that the step describes; nothing is timed.
class ScriptPlayer {
 public:
  ScriptPlayer(const Settings& settings, Screen& screen, Watch& watch, http::Client& api,
               const docker::Network& network, const std::stop_token& stop)
      : settings_(settings),
        screen_(screen),
        watch_(watch),
        api_(api),
        network_(network),
        stop_(stop) {}

  /// Return false if the step failed.
  bool play(std::size_t number, const Step& step) {
    introduce(number, step);
    started_ = Clock::now();
    if (const auto acted = step.act(api_); !acted) {
      indented(acted.error().text());
      return false;
    }
    if (!follow(step)) return false;
    explain(step);
    return !step.answers || probe_service();
  }

  /// Wait for --pause, or until Enter on a terminal.
  void pause() {
    if (settings_.pause) {
      base::sleep_for(stop_, std::chrono::seconds(*settings_.pause));
      return;
    }
    if (!screen_.is_terminal() || isatty(STDIN_FILENO) == 0) return;
    screen_.say("   [Enter]");
    // Polls, because a read of the terminal could not be interrupted by the stop token.
    while (!stop_.stop_requested()) {
      pollfd waiting{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 100) <= 0) continue;
      std::array<char, 256> ignored{};
      if (::read(STDIN_FILENO, ignored.data(), ignored.size()) >= 0) return;
    }
  }

 private:
  void indented(const std::string& text) {
    for (const auto& line : wrapped(text, 96)) screen_.say("   " + line);
  }

  void introduce(std::size_t number, const Step& step) {
    screen_.say("");
    screen_.say(fmt::format("{}. {}", number, step.title), true);
    indented(step.explanation);
    std::istringstream commands(step.command);
    for (std::string line; std::getline(commands, line);) screen_.say("   $ " + line);
  }

  /// Print the changes until the step is over.
  bool follow(const Step& step) {
    while (!stop_.stop_requested()) {
      const auto news = watch_.changes(seen_);
      seen_ += news.size();
      for (const auto& change : news)
        screen_.say(fmt::format("   {:+6.1f} s  {}", seconds(), change.what));
      const auto services = watch_.services();
      const auto found = services.find(kName);
      if (found != services.end() && step.reached(found->second)) return true;
      if (Clock::now() > started_ + kStepTimeout) {
        indented("This step did not end as it should; --log-level debug shows more.");
        return false;
      }
      watch_.wait(seen_, 250ms, stop_);
    }
    return true;
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  /// Quote the condition's message: what the provider says is the point of the script.
  void explain(const Step& step) {
    const auto services = watch_.services();
    const auto found = services.find(kName);
    if (found == services.end()) return;
    const auto* const condition =
        core::find_condition(found->second.status.conditions, step.condition);
    if (condition != nullptr && !condition->message.empty())
      indented("\"" + condition->message + "\"");
  }

  bool probe_service() {
    bool good = true;
    const auto services = watch_.services();
    const auto found = services.find(kName);
    if (found == services.end()) return false;
    for (const auto& one : probe(found->second, network_)) {
      screen_.say("   $ " + one.command + "  ->  " + one.answer);
      good = good && one.good;
    }
    return good;
  }

  const Settings& settings_;
  Screen& screen_;
  Watch& watch_;
  http::Client& api_;
  const docker::Network& network_;
  const std::stop_token& stop_;
  std::size_t seen_ = 0;
  Clock::time_point started_;
};
}  // namespace

int run_script(const std::vector<Step>& steps, const Settings& settings, Screen& screen,
               Watch& watch, http::Client& api, const docker::Network& network,
               const std::stop_token& stop) {
  ScriptPlayer player(settings, screen, watch, api, network, stop);
  for (std::size_t i = 0; i < steps.size() && !stop.stop_requested(); ++i) {
    if (i > 0) player.pause();
    if (stop.stop_requested()) break;
    if (!player.play(i + 1, steps[i])) return 1;
  }
  return 0;
}

}  // namespace kindlb::demo

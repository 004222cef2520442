#include "kindlb/conformance/console.hpp"

#include "kindlb/base/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace kindlb::conformance {

namespace {
using std::chrono::seconds;

/// Shorter waits are not worth a line.
constexpr seconds kFirstReport{5};
constexpr seconds kReportInterval{10};

std::size_t width_now() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string activity(const ConformanceProgress::Running& running) {
  if (!running.wait.empty() && (running.waited >= seconds(1) || running.state.empty()))
    return fmt::format("{} ({} s)", running.wait, running.waited.count());
  return running.state.empty() ? "starting" : running.state;
}

bool is_due(seconds before, seconds now) {
  const auto words = [](seconds time) {
    return time < kFirstReport ? 0 : 1 + (time - kFirstReport) / kReportInterval;
  };
  return words(now) > words(before);
}
}  // namespace

std::string live_line(const ConformanceProgress& progress, std::size_t width) {
  std::string line;
  if (progress.total > 0) line = fmt::format("{} of {} done", progress.done, progress.total);
  if (progress.failed > 0) line += fmt::format(", {} failed", progress.failed);
  for (const auto& [test, running] : progress.running)
    line += fmt::format("{}{}: {}", line.empty() ? "" : " | ", test, activity(running));
  line = base::printable(line);
  if (line.size() <= width) return line;
  return line.substr(0, width < 3 ? 0 : width - 3) + "...";
}

Console::Console(std::function<void(const conformance::Report&)> keep)
    : keep_(std::move(keep)), terminal_(isatty(STDERR_FILENO) != 0) {}

Console::~Console() {
  progress_ = {};
  draw();
}

void Console::tests_started(std::size_t tests) {
  progress_ = {.total = tests};
  draw();
}

void Console::message(const std::string& line) {
  print("  " + line);
}

void Console::status_changed(const std::string& test, const std::string& state) {
  progress_.running[test] = {.state = state};
  if (terminal_)
    draw();
  else
    print("  " + test + ": " + state);
}

void Console::waiting(const std::string& test, const std::string& what,
                      conformance::milliseconds waited) {
  auto& running = progress_.running[test];
  const auto before = running.wait == what ? running.waited : seconds{0};
  running.wait = what;
  running.waited = std::chrono::duration_cast<seconds>(waited);
  if (terminal_)
    draw();
  else if (is_due(before, running.waited))
    print(fmt::format("  {}: {} ({} s)", test, what, running.waited.count()));
}

void Console::test_finished(const conformance::TestResult& result) {
  progress_.running.erase(result.name);
  ++progress_.done;
  progress_.failed += result.outcome.verdict == conformance::Verdict::Fail ? 1U : 0U;
  // After the last test there is no live line; the clean-up reports line by line.
  if (progress_.done == progress_.total) progress_ = {};
  const auto& why = result.outcome.reason;
  print(fmt::format("{:<7} {}{}{}", name_of(result.outcome.verdict), result.name,
                    why.empty() ? "" : ": ", why));
}

void Console::tests_finished(const conformance::Report& report) {
  if (keep_) keep_(report);
}

/// Erase the live line, print above it, draw it again.
void Console::print(const std::string& line) {
  if (!drawn_.empty()) std::fputs("\r\033[K", stderr);
  drawn_.clear();
  std::fprintf(stderr, "%s\n", base::printable(line).c_str());
  draw();
}

void Console::draw() {
  if (!terminal_) return;
  auto line = live_line(progress_, width_now() - 1);
  if (line == drawn_) return;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  drawn_ = std::move(line);
}

}  // namespace kindlb::conformance

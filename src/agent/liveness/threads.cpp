#include "liveness/threads.hpp"

#include "files.hpp"
#include "kindlb/base/number.hpp"
#include "kindlb/base/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace kindlb::agent {
namespace {

constexpr std::size_t kLongestProcFile = 65536;
// Fields of stat after the name, counted from the state.
constexpr std::size_t kUserTime = 11;
constexpr std::size_t kSystemTime = 12;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(" \n"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

/// Return the sum of voluntary and other switches: every line whose name ends so.
std::optional<std::uint64_t> switches_in(std::string_view status) {
  constexpr std::string_view kName = "voluntary_ctxt_switches:";
  std::optional<std::uint64_t> out;
  for (auto at = status.find(kName); at != std::string_view::npos; at = status.find(kName)) {
    status.remove_prefix(at + kName.size());
    const auto line = status.substr(0, std::min(status.find('\n'), status.size()));
    const auto count = base::parse_number<std::uint64_t>(base::trimmed(line));
    if (!count) return std::nullopt;
    out = out.value_or(0) + *count;
  }
  return out;
}

std::uint64_t to_milliseconds(std::uint64_t ticks) {
  static const auto kPerSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ticks * 1'000 / kPerSecond;
}

}  // namespace

/// The name is in parentheses and may itself contain any byte: the last one ends it.
std::optional<Thread> parse_thread(std::string_view stat, std::string_view status) {
  const auto open = stat.find('(');
  const auto close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  const auto id = base::parse_number<pid_t>(base::trimmed(stat.substr(0, open)));
  const auto fields = words_of(stat.substr(close + 1));
  const auto switches = switches_in(status);
  if (!id || !switches || fields.size() <= kSystemTime || fields[0].size() != 1)
    return std::nullopt;
  const auto user = base::parse_number<std::uint64_t>(fields[kUserTime]);
  const auto system = base::parse_number<std::uint64_t>(fields[kSystemTime]);
  if (!user || !system) return std::nullopt;
  return Thread{*id, std::string(stat.substr(open + 1, close - open - 1)), fields[0][0],
                to_milliseconds(*user + *system), *switches};
}

std::vector<Thread> read_threads(pid_t process) {
  std::vector<Thread> out;
  std::error_code error;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator at(tasks, error), end; !error && at != end;
       at.increment(error)) {
    const auto stat = read_file(at->path() / "stat", kLongestProcFile);
    const auto status = read_file(at->path() / "status", kLongestProcFile);
    if (!stat || !status) continue;
    if (auto thread = parse_thread(*stat, *status)) out.push_back(std::move(*thread));
  }
  return out;
}

}  // namespace kindlb::agent

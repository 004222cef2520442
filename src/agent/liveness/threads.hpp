#pragma once
// What the threads of a process do, as /proc tells.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::agent {

struct Thread {
  pid_t id = 0;
  std::string name;                    ///< "wrk:worker_0": at most 15 bytes
  char state = ' ';                    ///< as proc(5) names it: R, S, D, T, t, Z ...
  std::uint64_t cpu_milliseconds = 0;  ///< in user and kernel mode, since its start
  std::uint64_t switches = 0;          ///< how often it has left a processor, since its start

  bool operator==(const Thread&) const = default;
};

/// Parse /proc/PID/task/TID/stat and the file `status` beside it. Nothing if either is malformed.
std::optional<Thread> parse_thread(std::string_view stat, std::string_view status);

/// Return the threads of a process. One that ends meanwhile is left out; empty if there is no such
/// process or /proc cannot be read.
std::vector<Thread> read_threads(pid_t process);

}  // namespace kindlb::agent

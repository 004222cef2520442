#pragma once
// A program under measurement: started with its log in a file, looked at through /proc, ended.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace kindlb::bench {

class Process {
 public:
  Process(const std::vector<std::string>& arguments, std::string log);
  ~Process();  ///< SIGTERM, and SIGKILL after a while
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Sends SIGTERM; how long it took to end.
  std::chrono::milliseconds stop();
  pid_t pid() const { return pid_; }
  /// VmRSS in kB.
  long resident_kb() const;
  /// Waits until the log holds `text`; how long after the start. Negative: not within the limit.
  std::chrono::milliseconds wait_for_log(const std::string& text, std::chrono::seconds limit) const;
  std::string log_text() const;

 private:
  pid_t pid_ = -1;
  std::string log_;
  std::chrono::steady_clock::time_point started_;
};

/// Return the processor time, in seconds, that all threads of any process have used so far: the
/// utime and stime of /proc, which are rounded to 10 ms there. Throws when it does not run.
double cpu_seconds(pid_t pid);

}  // namespace kindlb::bench

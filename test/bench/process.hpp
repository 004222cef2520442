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

}  // namespace kindlb::bench

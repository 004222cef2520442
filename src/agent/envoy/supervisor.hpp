#pragma once
// Keeps Envoy running as an unprivileged child: starts it, passes its log on, starts it again when
// it ends. Runs on the loop; told of exited children by whoever reaps them. Not thread-safe.

#include "envoy/envoy_log.hpp"
#include "envoy/restart_backoff.hpp"
#include "kindlb/base/fd.hpp"
#include "kindlb/core/result.hpp"
#include "loop.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kindlb::agent {

struct EnvoyCommand {
  std::vector<std::string> arguments;  ///< the program first
  uid_t uid = 0;                       ///< and gid; 0: as we are (tests)
};

/// How a process exited, from its wait status: "killed by signal 9", "exited with status 1".
std::string describe_exit(int wait_status);

class Supervisor {
 public:
  struct Events {
    std::function<void()> started;
    std::function<void(const std::string& how)> exited;
  };

  Supervisor(Loop& loop, EnvoyCommand command, Events events)
      : loop_(loop), command_(std::move(command)), events_(std::move(events)) {}
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void start();
  /// Asks Envoy to end, insists after two seconds, and does not start it again.
  void stop();
  /// True if it was Envoy that exited.
  bool reaped(pid_t pid, int wait_status);

  bool is_running() const { return pid_ > 0; }
  std::uint32_t restarts() const { return starts_ == 0 ? 0 : starts_ - 1; }
  EnvoyLog& envoy_log() { return log_; }
  /// Takes in what Envoy has logged by now.
  void drain_log();

 private:
  void exited(const std::string& how);

  Loop& loop_;
  EnvoyCommand command_;
  Events events_;
  EnvoyLog log_;
  RestartBackoff backoff_;
  base::Fd log_pipe_;
  pid_t pid_ = -1;
  std::uint32_t starts_ = 0;
  bool stopping_ = false;
  Loop::Clock::time_point started_;
};

}  // namespace kindlb::agent

#pragma once
// Keeps Envoy running as an unprivileged child: starts it, passes its log on, and starts it again
// when it exits, after a backoff.
//
// There is one Envoy at a time. A restart is a cold start: Envoy's hot restart is switched off,
// since it needs shared memory and two Envoys at once, and configuration changes never need a
// restart (file-based xDS). Connections through a crashed Envoy are lost.
//
// The supervisor does not wait for children itself: the agent is pid 1, so its SIGCHLD handling
// reaps every child and reports Envoy through reaped(). Runs on the loop, which must outlive it;
// not thread-safe. The destructor kills a running Envoy.

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
  uid_t uid = 0;                       ///< and gid; 0: unchanged, for tests
};

/// Describe a wait status: "killed by signal 9", "exited with status 1".
std::string describe_exit(int wait_status);

class Supervisor {
 public:
  struct Events {
    /// Envoy has been started; whether it becomes live is for its admin interface to say.
    std::function<void()> started;
    /// Envoy has exited, or could not be started. The restart is scheduled already, so that the
    /// callee has at least one turn of the loop to put the files Envoy will read in order.
    std::function<void(const std::string& how)> exited;
  };

  Supervisor(Loop& loop, EnvoyCommand command, Events events)
      : loop_(loop), command_(std::move(command)), events_(std::move(events)) {}
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Start Envoy. REQUIRES: it is not running.
  void start();
  /// Send SIGTERM, after two seconds SIGKILL, and do not start Envoy again. `exited` is called when
  /// it has exited, or at once if it does not run.
  void stop();
  /// Kill Envoy, which is started again. `exited` is then told `why` instead of the signal. Does
  /// nothing if it does not run or is being stopped.
  void replace(const std::string& why);
  /// Report a reaped child. Return whether it was Envoy.
  bool reaped(pid_t pid, int wait_status);

  bool is_running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }  ///< -1 if it does not run
  std::uint32_t restarts() const { return starts_ == 0 ? 0 : starts_ - 1; }
  EnvoyLog& envoy_log() { return log_; }
  /// Read what Envoy has logged by now, so that envoy_log() covers everything before this call.
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
  std::string replaced_because_;  ///< empty unless replace() has killed it
  Loop::TimePoint started_;
};

}  // namespace kindlb::agent

// A process of its own for each case: signals belong to a whole process.
#include "stop_signal.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace {

using namespace kindlb::app;

constexpr int kInTime = 0;
constexpr int kTooEarly = 1;
constexpr int kRounds = 20;  ///< of stopping and continuing: the first may come before it waits

/// A process that waits for its stop signal, and exits with kTooEarly if it gets one before
/// terminate().
class WaitingProcess {
 public:
  WaitingProcess() {
    REQUIRE(pipe2(started_.data(), O_CLOEXEC) == 0);
    REQUIRE(pipe2(terminated_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    pid_ = fork();
    if (pid_ == 0) run();
    char byte = 0;
    REQUIRE(read(started_[0], &byte, 1) == 1);
  }
  ~WaitingProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    for (const int fd : {started_[0], started_[1], terminated_[0], terminated_[1]}) close(fd);
  }
  WaitingProcess(const WaitingProcess&) = delete;
  WaitingProcess& operator=(const WaitingProcess&) = delete;

  /// Stop it and let it go on. Return whether it still runs.
  bool suspend_once() {
    kill(pid_, SIGSTOP);
    if (!WIFSTOPPED(await(WUNTRACED))) return false;
    kill(pid_, SIGCONT);
    return WIFCONTINUED(await(WCONTINUED));
  }

  /// Send the signal it waits for. Return its exit code.
  int terminate() {
    REQUIRE(write(terminated_[1], "x", 1) == 1);
    kill(pid_, SIGTERM);
    const int status = await(0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  /// Wait for its next change of state.
  int await(int options) {
    int status = 0;
    waitpid(pid_, &status, options);
    if (WIFEXITED(status) || WIFSIGNALED(status)) pid_ = -1;
    return status;
  }

  [[noreturn]] void run() const {
    const StopSignal stop(std::chrono::seconds(10));
    if (write(started_[1], "x", 1) != 1) _exit(kTooEarly);
    stop.wait();
    char byte = 0;
    _exit(read(terminated_[0], &byte, 1) == 1 ? kInTime : kTooEarly);
  }

  std::array<int, 2> started_{};
  std::array<int, 2> terminated_{};
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("a process that was stopped and continued goes on waiting") {
  WaitingProcess process;
  for (int i = 0; i < kRounds; ++i) REQUIRE(process.suspend_once());
  CHECK(process.terminate() == kInTime);
}

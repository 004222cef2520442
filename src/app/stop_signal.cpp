#include "stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <utility>

namespace kindlb::app {

namespace {

/// SIGHUP is left alone if it is ignored: `nohup kindlb` has to survive its terminal.
sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hang_up {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN)
    sigaddset(&set, SIGHUP);
  return set;
}

/// Wait for one of the signals. Stopping and continuing the process (Ctrl-Z and `fg`) interrupts a
/// wait without being one of them.
void await_signal(const sigset_t& set) {
  while (sigwaitinfo(&set, nullptr) < 0 && errno == EINTR) {
  }
}

/// The same, at most until `deadline`. Return whether a signal came.
bool await_signal_until(const sigset_t& set, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const auto left = std::max(deadline - std::chrono::steady_clock::now(),
                               std::chrono::steady_clock::duration::zero());
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec limit{whole.count(), std::chrono::nanoseconds(left - whole).count()};
    if (sigtimedwait(&set, nullptr, &limit) > 0) return true;
    if (errno != EINTR) return false;
  }
}

}  // namespace

StopSignal::StopSignal(std::chrono::milliseconds timeout, int timeout_code) {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a peer that hangs up is an error of write(), not a reason to die
  waiter_ = std::jthread([this, set, timeout, timeout_code](const std::stop_token& ended) {
    // Blocked signals wait until they are fetched here, so none is lost between the two waits. The
    // destructor sends one, too; `ended` tells it from a real one.
    await_signal(set);
    if (ended.stop_requested()) return;
    source_.request_stop();
    const bool again = await_signal_until(set, std::chrono::steady_clock::now() + timeout);
    if (!ended.stop_requested()) end(again ? 130 : timeout_code);
  });
}

StopSignal::~StopSignal() {
  waiter_.request_stop();
  // Wakes the waiter, and only it: a signal to a thread is pending for that thread alone.
  // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread): the waiter fetches it and lives on
  pthread_kill(waiter_.native_handle(), SIGTERM);
}

void StopSignal::wait() const {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, token(), [this] { return token().stop_requested(); });
}

void StopSignal::before_forced_exit(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  before_forced_exit_ = std::move(action);
}

void StopSignal::end(int code) {
  const std::lock_guard lock(mutex_);
  // _exit and not exit: other threads still use the static objects that exit() would destroy.
  if (before_forced_exit_) before_forced_exit_();
  _exit(code);
}

}  // namespace kindlb::app

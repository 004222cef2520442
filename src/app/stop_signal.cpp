#include "stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <ctime>
#include <utility>

namespace kindlb::app {

namespace {

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

}  // namespace

StopSignal::StopSignal(std::chrono::milliseconds patience, int impatient) {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  waiter_ = std::jthread([this, set, patience, impatient](const std::stop_token& ended) {
    sigwaitinfo(&set, nullptr);
    if (ended.stop_requested()) return;
    source_.request_stop();
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const timespec limit{whole.count(), std::chrono::nanoseconds(patience - whole).count()};
    const bool again = sigtimedwait(&set, nullptr, &limit) > 0;
    if (!ended.stop_requested()) end(again ? 130 : impatient);
  });
}

StopSignal::~StopSignal() {
  waiter_.request_stop();
  pthread_kill(waiter_.native_handle(), SIGTERM);  // for its ears only: it waits for signals
}

void StopSignal::wait() const {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, token(), [this] { return token().stop_requested(); });
}

void StopSignal::at_last(std::function<void()> rites) {
  const std::lock_guard lock(mutex_);
  last_rites_ = std::move(rites);
}

void StopSignal::end(int code) {
  const std::lock_guard lock(mutex_);
  if (last_rites_) last_rites_();
  _exit(code);
}

}  // namespace kindlb::app

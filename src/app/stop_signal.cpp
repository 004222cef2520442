#include "app/stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <ctime>
#include <mutex>

namespace kindlb::app {

namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignal::StopSignal() {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  waiter_ = std::jthread([this, set](const std::stop_token& ended) {
    const timespec poll{0, 100'000'000};
    while (!ended.stop_requested()) {
      if (sigtimedwait(&set, nullptr, &poll) < 0) continue;
      if (source_.stop_requested()) _exit(130);
      source_.request_stop();
    }
  });
}

StopSignal::~StopSignal() = default;

void StopSignal::leave_within(std::chrono::milliseconds patience) {
  last_resort_ = std::jthread([patience](const std::stop_token& ended) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, ended, patience, [] { return false; });
    if (!ended.stop_requested()) _exit(0);
  });
}

}  // namespace kindlb::app

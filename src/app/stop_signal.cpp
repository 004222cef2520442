#include "app/stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <ctime>

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

StopSignal::StopSignal(std::chrono::milliseconds patience) {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  waiter_ = std::jthread([this, set, patience](const std::stop_token& ended) {
    sigwaitinfo(&set, nullptr);
    if (ended.stop_requested()) return;
    source_.request_stop();
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const timespec limit{whole.count(), std::chrono::nanoseconds(patience - whole).count()};
    const bool again = sigtimedwait(&set, nullptr, &limit) > 0;
    if (!ended.stop_requested()) _exit(again ? 130 : 0);
  });
}

StopSignal::~StopSignal() {
  waiter_.request_stop();
  pthread_kill(waiter_.native_handle(), SIGTERM);  // for its ears only: it waits for signals
}

}  // namespace kindlb::app

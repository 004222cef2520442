#include "app/stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <optional>

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
    using std::chrono::steady_clock;
    std::optional<steady_clock::time_point> deadline;
    const timespec poll{0, 50'000'000};
    while (!ended.stop_requested()) {
      const bool signalled = sigtimedwait(&set, nullptr, &poll) > 0;
      if (deadline && (signalled || steady_clock::now() > *deadline)) _exit(signalled ? 130 : 0);
      if (!signalled) continue;
      deadline = steady_clock::now() + patience;
      source_.request_stop();
    }
  });
}

}  // namespace kindlb::app

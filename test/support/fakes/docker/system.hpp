#pragma once
// The events of a FakeEngine. Thread-safe; subscribers are called without a lock.

#include "kindlb/docker/system.hpp"
#include "support/fakes/docker/calls.hpp"

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>

namespace kindlb::testing {

class FakeSystem final : public docker::System {
 public:
  explicit FakeSystem(FakeCalls& calls) : calls_(calls) {}

  /// Every subscriber's stream breaks with Unavailable.
  void break_events();
  std::size_t subscribers() const;
  /// For the parts, whenever something changes.
  void publish(docker::Event event);

  core::Result<docker::EngineInfo> info() override;
  core::Result<void> events(const std::function<void()>& on_open,
                            const std::function<void(const docker::Event&)>& on_event,
                            std::stop_token stop) override;

 private:
  struct Subscriber {
    std::deque<docker::Event> queue;
    bool broken = false;
  };

  FakeCalls& calls_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::list<Subscriber> subscribers_;
  std::int64_t clock_ = 0;
};

}  // namespace kindlb::testing

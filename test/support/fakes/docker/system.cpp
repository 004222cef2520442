#include "support/fakes/docker/system.hpp"

namespace kindlb::testing {

void FakeSystem::break_events() {
  const std::lock_guard lock(mutex_);
  for (auto& subscriber : subscribers_) subscriber.broken = true;
  wake_.notify_all();
}

std::size_t FakeSystem::subscribers() const {
  const std::lock_guard lock(mutex_);
  return subscribers_.size();
}

void FakeSystem::publish(docker::Event event) {
  const std::lock_guard lock(mutex_);
  event.time_nano = ++clock_;
  for (auto& subscriber : subscribers_) subscriber.queue.push_back(event);
  wake_.notify_all();
}

core::Result<docker::EngineInfo> FakeSystem::info() {
  if (auto fault = calls_.enter("info", "")) return *fault;
  return docker::EngineInfo{.version = "fake", .api_version = "1.41", .os = "linux"};
}

core::Result<void> FakeSystem::events(const std::function<void()>& on_open,
                                      const std::function<void(const docker::Event&)>& on_event,
                                      std::stop_token stop) {
  if (auto fault = calls_.enter("events", "")) return *fault;
  std::unique_lock lock(mutex_);
  const auto self = subscribers_.emplace(subscribers_.end());
  lock.unlock();
  if (on_open) on_open();
  lock.lock();
  while (wake_.wait(lock, stop, [&] { return self->broken || !self->queue.empty(); })) {
    if (self->queue.empty()) break;  // broken, and everything before it delivered
    const auto event = self->queue.front();
    self->queue.pop_front();
    lock.unlock();
    on_event(event);
    lock.lock();
  }
  const bool broken = self->broken;
  subscribers_.erase(self);
  if (broken) return core::Error{core::ErrorKind::Unavailable, "events", "the stream broke"};
  return core::Error{core::ErrorKind::Cancelled, "events", "stop requested"};
}

}  // namespace kindlb::testing

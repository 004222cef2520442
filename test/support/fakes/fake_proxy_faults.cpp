// Proxies that run and cannot serve.
#include "support/fakes/fake_proxy_host.hpp"

#include <utility>

namespace kindlb::testing {

void FakeProxyHost::pause(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    boxes_.at(id).seen.paused = true;
  }
  publish_event("pause", id);
}

void FakeProxyHost::unpause(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    boxes_.at(id).seen.paused = false;
  }
  publish_event("unpause", id);
}

void FakeProxyHost::disconnect_network(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    boxes_.at(id).seen.attached = false;
  }
  publish_event("disconnect", id);
}

void FakeProxyHost::connect_network(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    boxes_.at(id).seen.attached = true;
  }
  publish_event("connect", id);
}

void FakeProxyHost::freeze(const std::string& id, bool suspended) {
  const std::lock_guard lock(mutex_);
  auto& box = boxes_.at(id);
  box.frozen = true;
  box.seen.suspended = suspended;
}

void FakeProxyHost::thaw(const std::string& id) {
  const std::lock_guard lock(mutex_);
  auto& box = boxes_.at(id);
  box.frozen = false;
  box.seen.suspended = false;
}

void FakeProxyHost::clog_stream(const std::string& id) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).stream_hangs = true;
}

bool FakeProxyHost::can_speak(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = boxes_.find(id);
  if (found == boxes_.end()) return false;
  const auto& box = found->second;
  return box.connected && !box.seen.paused && !box.frozen && !box.stream_hangs;
}

void FakeProxyHost::beat() {
  for (const auto& id : ids())
    if (can_speak(id)) deliver(id, protocol::Heartbeat{});
}

void FakeProxyHost::report_network_problem(const std::string& id, const std::string& problem) {
  protocol::Status status;
  {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_.at(id);
    box.network_problem = problem;
    status = {.envoy = box.envoy, .units = units(box), .network_problem = problem};
  }
  deliver(id, std::move(status));
}

}  // namespace kindlb::testing

#include "fleet/container_lifecycle.hpp"

#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

/// A container that died may be about to be removed: after this delay the event would be here.
constexpr std::chrono::milliseconds kStartDelay{150};
constexpr std::chrono::milliseconds kRetryStart{1'000};
constexpr core::Backoff kRemovalBackoff{std::chrono::milliseconds(500),
                                        std::chrono::milliseconds(10'000)};

bool is_transient(core::ErrorKind kind) {
  return kind == core::ErrorKind::Unavailable || kind == core::ErrorKind::Timeout ||
         kind == core::ErrorKind::Cancelled;
}

}  // namespace

ContainerLifecycle::ContainerLifecycle(Loop& loop, AsyncHost& host, ProxyRoster& roster,
                                       Callbacks callbacks)
    : loop_(loop), host_(host), roster_(roster), callbacks_(std::move(callbacks)) {}

void ContainerLifecycle::start(const std::string& id) {
  const auto& proxy = *roster_.find(id);
  if (proxy.container.running || proxy.removing) return;
  if (!starting_.insert(id).second) return;
  loop_.after(kStartDelay, [this, id] { start_now(id); });
}

void ContainerLifecycle::start_now(const std::string& id) {
  if (roster_.find(id) == nullptr) return;
  host_.start(id, [this, id](const core::Result<void>& result) {
    if (roster_.find(id) == nullptr) return;
    starting_.erase(id);
    if (result.ok()) return callbacks_.started(id);
    on_start_failed(id, result.error());
  });
}

/// A container that cannot be restarted is removed, and its Services get another proxy. An engine
/// that is unreachable says nothing about the container, so then it is only tried again.
void ContainerLifecycle::on_start_failed(const std::string& id, const core::Error& why) {
  log::warn("proxy {}: cannot be restarted: {}", roster_.find(id)->container.name, why.text());
  if (!is_transient(why.kind)) return remove(id);
  loop_.after(kRetryStart, [this, id] {
    if (roster_.find(id) != nullptr) callbacks_.start_again(id);
  });
}

void ContainerLifecycle::remove(const std::string& id) {
  if (roster_.find(id)->removing) return;
  roster_.set_removing(id);
  request_removal(id);
}

void ContainerLifecycle::request_removal(const std::string& id) {
  host_.remove(id, [this, id](const core::Result<void>& result) { on_removed(id, result); });
}

void ContainerLifecycle::on_removed(const std::string& id, const core::Result<void>& result) {
  const auto* proxy = roster_.find(id);
  if (proxy == nullptr) return;
  if (result.ok()) return callbacks_.removed(id);
  log::warn("proxy {}: cannot be removed: {}", proxy->container.name, result.error().text());
  roster_.set_trouble(id, "its container cannot be removed: " + result.error().detail);
  callbacks_.removal_failed(id);
  const auto delay = core::delay_before(removal_failures_[id]++, kRemovalBackoff, 0.5);
  loop_.after(delay, [this, id] {
    if (roster_.find(id) != nullptr) request_removal(id);
  });
}

void ContainerLifecycle::remove_rest(const std::string& id) {
  host_.remove(id, [id](const core::Result<void>& result) {
    if (!result.ok())
      log::debug("proxy {}: cannot remove what is left of it: {}", id, result.error().text());
  });
}

void ContainerLifecycle::forget(const std::string& id) {
  starting_.erase(id);
  removal_failures_.erase(id);
}

}  // namespace kindlb::controller

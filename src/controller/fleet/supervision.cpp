#include "fleet/supervision.hpp"

#include "kindlb/log/log.hpp"

#include <utility>
#include <variant>

namespace kindlb::controller {

Supervision::Supervision(Loop& loop, AsyncHost& host, ProxyRoster& roster, Callbacks callbacks)
    : host_(host),
      roster_(roster),
      callbacks_(std::move(callbacks)),
      heartbeats_(loop, host, roster,
                  {.inspected = [this](const HostedProxy& found) { observe(found); },
                   .missing = callbacks_.missing,
                   .reconnect = callbacks_.reconnect,
                   .dead =
                       [this](const std::string& id, const std::string& why) {
                         auto faults = roster_.find(id)->faults;
                         faults.silence = why;
                         set_faults(id, faults);
                       }}),
      replacements_(loop, roster, callbacks_.replace) {}

/// Return the proxy if it may have faults; null otherwise.
const Proxy* Supervision::running(const std::string& id) const {
  const auto* proxy = roster_.find(id);
  return proxy != nullptr && proxy->container.running && !proxy->removing ? proxy : nullptr;
}

void Supervision::set_faults(const std::string& id, const ProxyFaults& faults) {
  if (!roster_.set_faults(id, faults)) return;
  const auto& proxy = *roster_.find(id);
  if (faults.any())
    log::warn("{}: its proxy cannot serve: {}", proxy.description(), faults.text());
  else
    log::info("{}: its proxy can serve again", proxy.description());
  replacements_.on_faults(id);
  callbacks_.changed(id);
}

// ---- the engine --------------------------------------------------------------------------------

/// The silence of a paused agent means nothing, and its channel may have been lost meanwhile.
void Supervision::container_paused(const std::string& id, bool paused) {
  const auto* proxy = running(id);
  if (proxy == nullptr || proxy->faults.paused == paused) return;
  auto faults = proxy->faults;
  faults.paused = paused;
  set_faults(id, faults);
  if (paused) return;
  heartbeats_.excuse(id);
  callbacks_.reachable(id);
}

void Supervision::network_changed(const std::string& id, bool connected) {
  const auto* proxy = running(id);
  if (proxy == nullptr || (connected && !proxy->faults.detached)) return;
  host_.inspect(id, [this, id](const core::Result<HostedProxy>& result) {
    if (result.ok()) return observe(*result);
    if (result.error().kind != core::ErrorKind::NotFound) return callbacks_.doubtful();
    if (roster_.find(id) != nullptr) callbacks_.missing(id);
  });
}

void Supervision::observe(const HostedProxy& found) {
  const auto* proxy = running(found.id);
  if (proxy == nullptr) return;
  if (!found.running) return callbacks_.stopped(found.id);
  auto faults = proxy->faults;
  faults.detached = !found.attached;
  set_faults(found.id, faults);
  container_paused(found.id, found.paused);
}

// ---- the agent ---------------------------------------------------------------------------------

void Supervision::on_message(const std::string& id, const protocol::Message& message) {
  auto faults = roster_.find(id)->faults;
  faults.silence.clear();
  heartbeats_.on_message(id);
  if (const auto* hello = std::get_if<protocol::Hello>(&message)) {
    heartbeats_.on_hello(id, hello->heartbeat);
    faults.network_problem = hello->network_problem;
  }
  if (const auto* status = std::get_if<protocol::Status>(&message))
    faults.network_problem = status->network_problem;
  set_faults(id, faults);
}

void Supervision::forget(const std::string& id) {
  heartbeats_.forget(id);
  replacements_.forget(id);
}

}  // namespace kindlb::controller

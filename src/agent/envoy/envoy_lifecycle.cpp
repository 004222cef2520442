// EnvoyUpdates: time-outs, Envoy's life cycle, and the agent's own listener.
#include "envoy/envoy_updates.hpp"
#include "log.hpp"

namespace kindlb::agent {

using protocol::EnvoyState;
using protocol::RejectStage;

void EnvoyUpdates::request_timed_out(RequestKey key) {
  if (parts_.requests.at(key).kind == Request::Kind::Release) return release(key);
  parts_.requests.reject(
      key, RejectStage::Down,
      "Envoy was not ready within " + std::to_string(Requests::kTimeout.count()) + " s");
  parts_.requests.end(key);
  parts_.network.sync();
}

void EnvoyUpdates::envoy_started() {
  state_ = EnvoyState::Starting;
  parts_.log.forget_rejections();
  std::vector<protocol::Unit> units;
  for (const auto* committed : parts_.units.served()) units.push_back(committed->unit);
  update_.await_start(std::move(units));
}

void EnvoyUpdates::envoy_live(const AckStatuses& statuses) {
  state_ = EnvoyState::Live;
  parts_.units.acknowledge(
      statuses, [this](const protocol::Unit& unit) { return parts_.log.reason_for(unit); });
  if (parts_.units.empty()) log("Envoy is ready");
  events_.live();
}

void EnvoyUpdates::envoy_exited() {
  state_ = EnvoyState::Down;
  parts_.units.forget_acknowledgements();
}

/// An update that was not committed may be what crashed Envoy. Its requests get a second attempt,
/// each alone; one that is there at two crashes is rejected, so that a single bad unit cannot keep
/// Envoy crashing. The sockets of the old Envoy are gone, and with them every reason to drain or
/// quarantine.
void EnvoyUpdates::recover(const std::string& how) {
  if (update_.is_own()) parts_.xds.abandon_own();
  for (const auto key : update_.abandon()) {
    if (parts_.requests.count_crash(key) >= 2)
      parts_.requests.reject(key, RejectStage::Down,
                             "Envoy stopped while applying this configuration: " + how);
    parts_.requests.requeue_alone(key);
  }
  parts_.rules.forget();
  parts_.network.sync();
  publish_committed();
  parts_.xds.repair();
  start_next();
}

/// In an update of its own, which a refusal cannot spoil for any request.
bool EnvoyUpdates::offer_own_listener() {
  const auto listener = parts_.xds.offer_own();
  if (!listener) return false;
  events_.read_log();
  parts_.log.forget_rejections();
  update_.await_own(*listener);
  return true;
}

void EnvoyUpdates::own_listener_decided(bool accepted) {
  parts_.xds.settle_own(accepted);
  if (accepted) return events_.own_listener_accepted();
  const auto why = parts_.log.reason_for({});
  log("Envoy does not accept the agent's listener, so that a hung Envoy will not be noticed" +
      (why.empty() ? "" : ": " + why));
  if (parts_.xds.publish(parts_.xds.snapshot())) update_.await_rollback();
}

}  // namespace kindlb::agent

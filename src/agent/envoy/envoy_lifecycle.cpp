// EnvoyUpdates: time-outs, and Envoy's life cycle.
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

}  // namespace kindlb::agent

#include "envoy/envoy_updates.hpp"

#include "log.hpp"

#include <algorithm>

namespace kindlb::agent {

using protocol::EnvoyState;
using protocol::RejectStage;

namespace {

std::vector<std::string> units_of(const std::vector<const Request*>& requests) {
  std::vector<std::string> out;
  for (const auto* request : requests) out.push_back(request->unit.unit);
  return out;
}

}  // namespace

EnvoyUpdates::EnvoyUpdates(Loop& loop, AckSource& acks, std::size_t watch_limit, Parts parts,
                           Events events)
    : parts_(parts),
      events_(std::move(events)),
      watch_limit_(watch_limit),
      update_(loop, acks,
              {.accepted = [this](const auto& requests) { accepted(requests); },
               .decided = [this](const auto& update,
                                 const auto& statuses) { decided(update, statuses); },
               .timed_out = [this](const auto& update,
                                   const auto& statuses) { timed_out(update, statuses); }}) {}

// Starting an update -----------------------------------------------------------------------------

void EnvoyUpdates::start_next() {
  if (update_.is_pending() || stopped_) return;
  if (state_ != EnvoyState::Live) return release_without_envoy();
  if (offer_own_listener()) return;
  // A batch whose requests are all rejected beforehand starts no update: take the next one.
  while (!update_.is_pending()) {
    const auto batch = next_batch(parts_.requests.queued(), budget());
    if (batch.empty()) return;
    start_update(batch);
  }
}

/// An Envoy that does not run has no listeners to remove: releases are carried out at once. Applies
/// wait, each with its own deadline, until Envoy is live again.
void EnvoyUpdates::release_without_envoy() {
  std::vector<RequestKey> releases;
  for (const auto* request : parts_.requests.queued())
    if (request->kind == Request::Kind::Release) releases.push_back(request->key);
  for (const auto key : releases) release(key);
  if (!releases.empty() && parts_.xds.is_started()) publish_committed();
}

/// Return the requests that can be in a snapshot; the others are rejected.
std::vector<const Request*> EnvoyUpdates::reject_unacceptable(std::vector<const Request*> batch) {
  const auto unacceptable =
      find_unacceptable(batch, parts_.units.snapshot(units_of(batch)), budget());
  for (const auto& [key, why] : unacceptable) {
    std::erase_if(batch, [key = key](const Request* request) { return request->key == key; });
    parts_.requests.reject(key, RejectStage::Invalid, why);
    parts_.requests.end(key);
  }
  if (!unacceptable.empty()) parts_.network.sync();
  return batch;
}

void EnvoyUpdates::start_update(const std::vector<const Request*>& batch) {
  const auto requests = reject_unacceptable(batch);
  if (requests.empty()) return;
  const auto snapshot = start_applying(requests);
  if (const auto set = parts_.network.install_rules(); !set)
    return withdraw(requests, RejectStage::Filter, set.error().text());
  events_.read_log();
  parts_.log.forget_rejections();
  bool changed = snapshot != parts_.xds.snapshot();
  auto written = parts_.xds.publish(snapshot);
  // Envoy tries a listener that it could not open, for want of its address, only when told again.
  if (!changed &&
      std::ranges::any_of(requests, [&](const auto* one) { return is_refused(*one); })) {
    written = parts_.xds.renew_listeners();
    changed = true;
  }
  if (!written)
    return withdraw(requests, RejectStage::Down,
                    "cannot write Envoy's configuration files: " + written.error().operation +
                        ": " + written.error().detail);
  update_.await_requests(requests, changed);
}

/// Return whether Envoy has not accepted at its start what the request asks for again.
bool EnvoyUpdates::is_refused(const Request& request) const {
  const auto* committed = parts_.units.find(request.unit.unit);
  return request.kind == Request::Kind::Apply && committed != nullptr &&
         committed->state == CommittedUnit::State::Unacknowledged;
}

/// Return the snapshot with the requests in the place of their predecessors. Computed after some
/// were rejected: their predecessors stay.
XdsSnapshot EnvoyUpdates::start_applying(const std::vector<const Request*>& requests) {
  auto snapshot = parts_.units.snapshot(units_of(requests));
  for (const auto* request : requests) {
    std::string conflict;
    if (!add_unit(snapshot, request->unit, conflict))
      log("not serving " + request->unit.owner + ": " + conflict + " is used by another Service");
    parts_.requests.start_applying(request->key);
    const auto* former = parts_.units.find(request->unit.unit);
    if (request->kind == Request::Kind::Apply && former != nullptr &&
        former->state != CommittedUnit::State::Suspended)
      parts_.rules.start_draining(former->unit, request->unit);
    parts_.rules.free_ports_for(request->unit);
  }
  return parts_.rules.with_draining(std::move(snapshot));
}

/// Reject requests that Envoy has not been given after all: there is nothing to quarantine.
void EnvoyUpdates::withdraw(const std::vector<const Request*>& requests, RejectStage stage,
                            const std::string& why) {
  for (const auto* request : requests) {
    const auto key = request->key;
    parts_.requests.reject(key, stage, why);
    parts_.requests.withdraw(key);
    parts_.requests.end(key);
  }
  parts_.network.sync();
}

// Envoy's decision -------------------------------------------------------------------------------

/// Commit units as soon as Envoy serves them, although others of the update are still warming.
void EnvoyUpdates::accepted(const std::vector<RequestKey>& requests) {
  for (const auto key : requests) commit(key);
  events_.units_changed();
}

/// Only an update in which everything was ACKed proves that Envoy has closed what the snapshot
/// lacks.
void EnvoyUpdates::decided(const AwaitedUpdate::Update& update, const AckStatuses& statuses) {
  if (all_acked(statuses)) lift_filters();
  processed(update, statuses);
}

/// A NACK in a shared update rejects no request yet: one unknown field makes Envoy reject a whole
/// file, so it does not tell which unit is at fault, and each request is tried again alone.
/// Endpoint files are deleted only now, when no cluster that Envoy knows watches them any more.
void EnvoyUpdates::processed(const AwaitedUpdate::Update& update, const AckStatuses& statuses) {
  events_.read_log();
  parts_.xds.prune();
  if (update.kind == AwaitedUpdate::Kind::Start) {
    envoy_live(statuses);
    return start_next();
  }
  if (update.kind == AwaitedUpdate::Kind::Own) {
    own_listener_decided(!statuses.empty() && all_acked(statuses));
    return start_next();
  }
  const bool refused = !all_acked(statuses);
  if (refused && update.requests.size() > 1) {
    for (const auto key : update.requests) parts_.requests.requeue_alone(key);
  } else {
    for (const auto key : update.requests) conclude(key, statuses);
    if (!update.requests.empty()) events_.units_changed();
  }
  if (refused) apply_committed();
  start_next();
}

/// At start, go on with what is known. Otherwise requests are rejected as Down, releases carried
/// out, and the committed content is written again.
void EnvoyUpdates::timed_out(const AwaitedUpdate::Update& update, const AckStatuses& statuses) {
  if (update.kind == AwaitedUpdate::Kind::Start || update.requests.empty())
    return processed(update, statuses);
  for (const auto key : update.requests) {
    if (parts_.requests.at(key).kind == Request::Kind::Release) {
      release(key);
      continue;
    }
    parts_.requests.reject(key, RejectStage::Down,
                           "Envoy neither accepted nor rejected the configuration within " +
                               std::to_string(AwaitedUpdate::kAckTimeout.count()) + " s");
    parts_.requests.end(key);
  }
  parts_.network.sync();
  apply_committed();
  start_next();
}

/// Commit or reject a request. Listeners carry their error in the config dump; for clusters and
/// endpoints the only place is Envoy's log.
void EnvoyUpdates::conclude(RequestKey key, const AckStatuses& statuses) {
  const auto& request = parts_.requests.at(key);
  if (request.kind == Request::Kind::Release) return release(key);
  const auto found = statuses.find(request.unit.unit);
  const auto status = found == statuses.end() ? AckStatus() : found->second;
  if (status.kind == AckStatus::Kind::Acked) return commit(key);
  auto text = status.text;
  if (text.empty()) text = parts_.log.reason_for(request.unit);
  if (text.empty())
    text =
        "Envoy rejected the configuration and gave no reason; see the log of the proxy container";
  parts_.requests.reject(key, RejectStage::Envoy, text);
  parts_.requests.end(key);
  parts_.network.sync();
}

/// Envoy serves the unit: make it the committed one and switch the UDP redirections over. The
/// request lives on until its probes have ended.
void EnvoyUpdates::commit(RequestKey key) {
  const auto& unit = parts_.requests.at(key).unit;
  if (const auto* former = parts_.units.find(unit.unit))
    parts_.rules.schedule_drain_end(former->unit, unit);
  parts_.units.commit(unit, key);
  parts_.requests.await_probes(key);
  parts_.network.sync();
  parts_.requests.finish_if_probed(key);
}

/// Addresses and routes go only now, after Envoy has closed the listeners bound to them.
void EnvoyUpdates::release(RequestKey key) {
  if (const auto former = parts_.units.release(parts_.requests.at(key).unit.unit))
    parts_.rules.forget_addresses(*former);
  parts_.requests.answer_applied(key);
  parts_.requests.end(key);
  parts_.network.sync();
  events_.units_changed();
}

/// Write the committed content. It does nothing if the files say so already; then Envoy has nothing
/// else, and no port needs to stay filtered.
void EnvoyUpdates::apply_committed() {
  if (update_.is_pending()) return;
  const auto snapshot = parts_.rules.with_draining(parts_.units.snapshot());
  if (snapshot == parts_.xds.snapshot()) return lift_filters();
  if (const auto written = parts_.xds.publish(snapshot); written)
    update_.await_rollback();
  else
    log(written.error().text());
}

void EnvoyUpdates::publish_committed() {
  const auto written = parts_.xds.publish(parts_.units.snapshot());
  if (!written) log(written.error().text());
}

void EnvoyUpdates::lift_filters() {
  if (!parts_.rules.lift_filters()) return;
  if (const auto set = parts_.network.install_rules(); !set) log(set.error().text());
}

void EnvoyUpdates::remove_drained() {
  if (update_.is_pending()) return parts_.rules.postpone_drain_end();
  parts_.rules.end_draining();
  apply_committed();
}

}  // namespace kindlb::agent

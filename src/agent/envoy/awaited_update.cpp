#include "envoy/awaited_update.hpp"

#include "kindlb/core/assert.hpp"
#include "log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::agent {

bool all_acked(const AckStatuses& statuses) {
  return std::ranges::all_of(
      statuses, [](const auto& entry) { return entry.second.kind == AckStatus::Kind::Acked; });
}

AwaitedUpdate::~AwaitedUpdate() {
  loop_.cancel(deadline_);
  acks_.stop();
}

void AwaitedUpdate::await_start(std::vector<protocol::Unit> units) {
  await({.kind = Kind::Start, .requests = {}}, std::move(units), {});
}

void AwaitedUpdate::await_requests(const std::vector<const Request*>& requests, bool changed) {
  Update update;
  std::vector<protocol::Unit> units;
  for (const auto* request : requests) {
    update.requests.push_back(request->key);
    units_[request->key] = request->unit.unit;
    if (request->kind == Request::Kind::Apply) units.push_back(request->unit);
  }
  await(std::move(update), std::move(units), changed ? acks_.latest() : AdminStats());
}

void AwaitedUpdate::await_rollback() {
  await({.kind = Kind::Rollback, .requests = {}}, {}, acks_.latest());
}

/// A unit that holds nothing but the listener: what Envoy says about it is said about that.
void AwaitedUpdate::await_own(const protocol::Resource& listener) {
  protocol::Unit unit{.unit = listener.name};
  unit.listeners = {listener};
  await({.kind = Kind::Own, .requests = {}}, {unit}, acks_.latest());
}

void AwaitedUpdate::await(Update update, std::vector<protocol::Unit> units,
                          const AdminStats& before) {
  KINDLB_ASSERT(!update_);
  update_ = std::move(update);
  start_deadline();
  acks_.start(std::move(units), before,
              [this](const AckStatuses& statuses, bool final) { changed(statuses, final); });
}

void AwaitedUpdate::start_deadline() {
  const auto limit = update_->kind == Kind::Rollback ? kRollbackTimeout : kAckTimeout;
  deadline_ = loop_.after(limit, [this] { deadline_passed(); });
}

void AwaitedUpdate::changed(const AckStatuses& statuses, bool final) {
  if (final) return events_.decided(take(), statuses);
  const auto accepted = take_accepted(statuses);
  if (!accepted.empty()) events_.accepted(accepted);
}

std::vector<RequestKey> AwaitedUpdate::take_accepted(const AckStatuses& statuses) {
  std::vector<RequestKey> out;
  std::erase_if(update_->requests, [&](RequestKey key) {
    const auto found = statuses.find(units_.at(key));
    const bool acked = found != statuses.end() && found->second.kind == AckStatus::Kind::Acked;
    if (acked) out.push_back(key);
    return acked;
  });
  return out;
}

void AwaitedUpdate::deadline_passed() {
  if (update_->kind == Kind::Start && !acks_.latest().live) {
    log("still waiting for Envoy to become ready");
    return start_deadline();
  }
  const auto statuses = acks_.statuses();
  acks_.stop();
  events_.timed_out(take(), statuses);
}

std::vector<RequestKey> AwaitedUpdate::abandon() {
  acks_.reset();
  return update_ ? take().requests : std::vector<RequestKey>();
}

AwaitedUpdate::Update AwaitedUpdate::take() {
  loop_.cancel(deadline_);
  units_.clear();
  return *std::exchange(update_, std::nullopt);
}

}  // namespace kindlb::agent

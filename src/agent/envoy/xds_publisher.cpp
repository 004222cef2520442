#include "envoy/xds_publisher.hpp"

#include "kindlb/core/assert.hpp"
#include "log.hpp"

#include <utility>

namespace kindlb::agent {
namespace {
constexpr unsigned kMaxAbandoned = 2;
}  // namespace

void XdsPublisher::start(const XdsSnapshot& snapshot) {
  history_ = {};
  history_.record(with_own(snapshot), 1);
  snapshot_ = snapshot;
  auto written = files_.prepare();
  if (written) written = files_.write(changed_files(history_));
  if (!written) return log(written.error().text());
  prune();
}

core::Result<void> XdsPublisher::publish(const XdsSnapshot& snapshot) {
  if (auto whole = with_own(snapshot); whole != history_.snapshot()) {
    auto history = history_;
    history.record(whole, history_.version() + 1);
    if (auto written = write(std::move(history)); !written) return written;
  }
  snapshot_ = snapshot;
  return {};
}

core::Result<void> XdsPublisher::renew_listeners() {
  auto history = history_;
  history.record_renewed_listeners(history_.version() + 1);
  return write(std::move(history));
}

core::Result<void> XdsPublisher::write(XdsHistory history) {
  if (auto written = files_.write(changed_files(history)); !written) return written;
  history_ = std::move(history);
  return {};
}

void XdsPublisher::repair() const {
  if (const auto repaired = files_.repair(all_files(history_)); !repaired)
    log(repaired.error().text());
}

XdsSnapshot XdsPublisher::with_own(XdsSnapshot snapshot) const {
  if (own_ && (own_state_ == Own::Offered || own_state_ == Own::Accepted))
    snapshot.listeners.emplace(own_->name, own_->body);
  return snapshot;
}

std::optional<protocol::Resource> XdsPublisher::offer_own() {
  if (!own_ || own_state_ != Own::Undecided) return std::nullopt;
  own_state_ = Own::Offered;
  if (publish(snapshot_)) return own_;
  own_state_ = Own::Undecided;
  return std::nullopt;
}

void XdsPublisher::settle_own(bool accepted) {
  KINDLB_ASSERT(own_state_ == Own::Offered);
  own_state_ = accepted ? Own::Accepted : Own::Refused;
}

void XdsPublisher::abandon_own() {
  KINDLB_ASSERT(own_state_ == Own::Offered);
  own_state_ = ++abandoned_ < kMaxAbandoned ? Own::Undecided : Own::Refused;
}

}  // namespace kindlb::agent

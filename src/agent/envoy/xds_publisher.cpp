#include "envoy/xds_publisher.hpp"

#include "log.hpp"

#include <utility>

namespace kindlb::agent {

void XdsPublisher::start(const XdsSnapshot& snapshot) {
  history_ = {};
  history_.record(snapshot, 1);
  auto written = files_.prepare();
  if (written) written = files_.write(changed_files(history_));
  if (!written) return log(written.error().text());
  prune();
}

core::Result<void> XdsPublisher::publish(const XdsSnapshot& snapshot) {
  if (snapshot == history_.snapshot()) return {};
  auto history = history_;
  history.record(snapshot, history_.version() + 1);
  return write(std::move(history));
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

}  // namespace kindlb::agent

#include "envoy/xds_publisher.hpp"

#include "log.hpp"

namespace kindlb::agent {

void XdsPublisher::start(const XdsSnapshot& snapshot) {
  history_ = {};
  history_.record(snapshot, 1);
  auto written = files_.reset();
  if (written) written = files_.write(changed_files(history_));
  if (!written) log(written.error().text());
}

bool XdsPublisher::publish(const XdsSnapshot& snapshot) {
  if (snapshot == history_.snapshot()) return true;
  auto history = history_;
  history.record(snapshot, history_.version() + 1);
  if (const auto written = files_.write(changed_files(history)); !written) {
    log(written.error().text());
    return false;
  }
  history_ = std::move(history);
  return true;
}

}  // namespace kindlb::agent

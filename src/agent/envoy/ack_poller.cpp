#include "envoy/ack_poller.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace kindlb::agent {
namespace {

using std::chrono::milliseconds;

/// Ten polls at 1 ms catch the usual case, the rest of the first quarter second a slow one; after
/// that something warms or hangs, and 50 ms is soon enough.
milliseconds pause_after(unsigned polls) {
  if (polls < 10) return milliseconds(1);
  if (polls < 50) return milliseconds(5);
  return milliseconds(50);
}

}  // namespace

void AckPoller::start(std::vector<protocol::Unit> units, AdminStats before, OnChange on_change) {
  stop();
  units_ = std::move(units);
  before_ = std::move(before);
  on_change_ = std::move(on_change);
  path_ = stats_path(units_);
  statuses_.clear();
  polls_ = 0;
  poll();
}

void AckPoller::stop() {
  loop_.cancel(timer_);
  client_.close();
  on_change_ = nullptr;
}

void AckPoller::reset() {
  stop();
  latest_ = {};
  statuses_.clear();
}

void AckPoller::poll() {
  dump_ = {};
  fetch(
      path_,
      [this](const std::string& body) {
        auto now = parse_stats(body);
        // Only this run's clusters were requested; keep what is known of the others, or the next
        // update would compare their counters with zero.
        now.eds.merge(latest_.eds);
        latest_ = std::move(now);
        return true;
      },
      [this] { got_stats(); });
}

void AckPoller::poll_later() {
  timer_ = loop_.after(pause_after(polls_++), [this] { poll(); });
}

/// Send one request of a poll. If it fails or its body cannot be parsed, the whole poll starts over
/// later: Envoy may be starting, and only a consistent set of answers counts.
void AckPoller::fetch(const std::string& path, std::function<bool(const std::string&)> use,
                      std::function<void()> next) {
  client_.get(path, [this, use = std::move(use),
                     next = std::move(next)](const core::Result<std::string>& body) {
    if (body && use(*body))
      next();
    else
      poll_later();
  });
}

/// The common case needs no dump: everything accepted, nothing warming. Otherwise three dumps tell
/// which resources are at fault or still warming.
void AckPoller::got_stats() {
  if (!is_processed(latest_, before_, history_)) return poll_later();
  if (is_all_active(latest_, history_)) return evaluate();
  fetch(
      kListenersPath, [this](const std::string& body) { return parse_listeners(body, dump_); },
      [this] {
        fetch(
            kActiveClustersPath,
            [this](const std::string& body) { return parse_clusters(body, false, dump_); },
            [this] {
              fetch(
                  kWarmingClustersPath,
                  [this](const std::string& body) { return parse_clusters(body, true, dump_); },
                  [this] { evaluate(); });
            });
      });
}

/// Forget statistics of clusters that are gone: if one is added again, Envoy counts from zero.
void AckPoller::drop_removed_clusters() {
  std::set<std::string> present;
  for (const auto& [name, body] : history_.snapshot().clusters) present.insert(stat_name(name));
  std::erase_if(latest_.eds, [&](const auto& entry) { return !present.contains(entry.first); });
}

void AckPoller::evaluate() {
  statuses_.clear();
  bool pending = false;
  for (const auto& unit : units_) {
    auto status = unit_status(unit, latest_, before_, dump_, history_);
    pending = pending || status.kind == AckStatus::Kind::Pending;
    statuses_.emplace(unit.unit, std::move(status));
  }
  if (pending)
    poll_later();
  else
    drop_removed_clusters();
  // Copies: the callee may call start() or stop(), which change the members.
  const auto on_change = pending ? on_change_ : std::exchange(on_change_, nullptr);
  const auto statuses = statuses_;
  if (on_change) on_change(statuses, !pending);
}

}  // namespace kindlb::agent

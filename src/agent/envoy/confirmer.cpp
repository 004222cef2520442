#include "envoy/confirmer.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace kindlb::agent {
namespace {

using std::chrono::milliseconds;

milliseconds pause_after(unsigned polls) {
  if (polls < 10) return milliseconds(1);
  if (polls < 50) return milliseconds(5);
  return milliseconds(50);
}

}  // namespace

void Confirmer::start(std::vector<protocol::Unit> units, AdminStats before, Seen seen) {
  stop();
  units_ = std::move(units);
  before_ = std::move(before);
  seen_ = std::move(seen);
  path_ = stats_path(units_);
  judgements_.clear();
  polls_ = 0;
  poll();
}

void Confirmer::stop() {
  loop_.cancel(timer_);
  client_.close();
  seen_ = nullptr;
}

void Confirmer::forget() {
  stop();
  latest_ = {};
  judgements_.clear();
}

void Confirmer::poll() {
  dump_ = {};
  ask(
      path_,
      [this](const std::string& body) {
        auto now = parse_stats(body);
        now.eds.merge(latest_.eds);  // those that were not asked for
        latest_ = std::move(now);
        return true;
      },
      [this] { got_stats(); });
}

void Confirmer::poll_later() {
  timer_ = loop_.after(pause_after(polls_++), [this] { poll(); });
}

/// One request; whatever goes wrong with it, the whole round is tried again later.
void Confirmer::ask(const std::string& path, std::function<bool(const std::string&)> use,
                    std::function<void()> next) {
  client_.get(path, [this, use = std::move(use),
                     next = std::move(next)](const core::Result<std::string>& body) {
    if (body && use(*body))
      next();
    else
      poll_later();
  });
}

void Confirmer::got_stats() {
  if (!is_settled(latest_, before_, history_)) return poll_later();
  if (is_all_active(latest_, history_)) return got_everything();
  ask(
      kListenersPath, [this](const std::string& body) { return parse_listeners(body, dump_); },
      [this] {
        ask(
            kActiveClustersPath,
            [this](const std::string& body) { return parse_clusters(body, false, dump_); },
            [this] {
              ask(
                  kWarmingClustersPath,
                  [this](const std::string& body) { return parse_clusters(body, true, dump_); },
                  [this] { got_everything(); });
            });
      });
}

/// A cluster that comes again counts from nothing.
void Confirmer::forget_removed() {
  std::set<std::string> present;
  for (const auto& [name, body] : history_.content().clusters) present.insert(stat_name(name));
  std::erase_if(latest_.eds, [&](const auto& entry) { return !present.contains(entry.first); });
}

void Confirmer::got_everything() {
  judgements_.clear();
  bool waiting = false;
  for (const auto& unit : units_) {
    auto judgement = judge(unit, latest_, before_, dump_, history_);
    waiting = waiting || judgement.kind == Judgement::Kind::Waiting;
    judgements_.emplace(unit.unit, std::move(judgement));
  }
  if (waiting)
    poll_later();
  else
    forget_removed();
  // What is called may start or stop us.
  const auto seen = waiting ? seen_ : std::exchange(seen_, nullptr);
  const auto judgements = judgements_;
  if (seen) seen(judgements, !waiting);
}

}  // namespace kindlb::agent

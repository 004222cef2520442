#include "fleet/heartbeats.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::chrono::milliseconds kTick{500};
/// A tick that is later than this says that kindlb was stopped or starved, or the machine was
/// suspended.
constexpr std::chrono::milliseconds kLate{1'000};
/// An engine that takes longer may still hold back what agents have sent.
constexpr std::chrono::milliseconds kPromptAnswer{2'000};
/// Of the executor's threads, so that an engine that hangs does not take them all.
constexpr std::size_t kQuestionsAtOnce = 2;

/// What an agent announces is believed within these bounds.
constexpr std::chrono::milliseconds kShortestInterval{1'000};
constexpr std::chrono::milliseconds kLongestInterval{60'000};

// In heartbeats: how long a silence is suspicious, is worth a new channel, is death.
constexpr double kSuspicious = 1.5;
constexpr int kReconnect = 2;
constexpr int kDead = 5;

std::chrono::milliseconds suspicious_after(std::chrono::milliseconds interval) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(interval * kSuspicious);
}

}  // namespace

Heartbeats::Heartbeats(Loop& loop, AsyncHost& host, const ProxyRoster& roster, Callbacks callbacks)
    : loop_(loop), host_(host), roster_(roster), callbacks_(std::move(callbacks)) {}

void Heartbeats::expect_hello(const std::string& id) {
  // An agent of another build may be one that sends no heartbeats.
  if (!watched_.contains(id) && roster_.find(id)->container.current) watch(id);
}

void Heartbeats::on_hello(const std::string& id, std::chrono::milliseconds interval) {
  if (interval.count() <= 0) return forget(id);
  watch(id);
  watched_.at(id).interval = std::clamp(interval, kShortestInterval, kLongestInterval);
  begin_silence(watched_.at(id));
}

void Heartbeats::on_message(const std::string& id) {
  if (const auto found = watched_.find(id); found != watched_.end()) begin_silence(found->second);
}

void Heartbeats::watch(const std::string& id) {
  begin_silence(watched_[id]);
  schedule();
}

void Heartbeats::begin_silence(Agent& agent) const {
  agent.silent_since = loop_.now();
  agent.look_at = agent.silent_since + suspicious_after(agent.interval);
  agent.reconnected = false;
}

void Heartbeats::schedule() {
  if (watched_.empty() || std::exchange(scheduled_, true)) return;
  last_tick_ = loop_.now();
  loop_.after(kTick, [this] { tick(); });
}

void Heartbeats::tick() {
  const auto now = loop_.now();
  const bool late = now - last_tick_ > kTick + kLate;
  for (auto& [id, agent] : watched_)
    if (late) begin_silence(agent);
  ask_next();
  scheduled_ = false;
  schedule();
}

void Heartbeats::ask_next() {
  const auto now = loop_.now();
  for (auto& [id, agent] : watched_) {
    if (questions_ == kQuestionsAtOnce) return;
    if (now >= agent.look_at && !agent.asked && roster_.find(id)->reachable()) ask(id, agent);
  }
}

void Heartbeats::ask(const std::string& id, Agent& agent) {
  ++questions_;
  agent.asked = true;
  agent.asked_at = loop_.now();
  host_.inspect(id, [this, id, asked_at = agent.asked_at](const core::Result<HostedProxy>& result) {
    --questions_;
    answered(id, asked_at, result);
    ask_next();
  });
}

void Heartbeats::answered(const std::string& id, TimePoint asked_at,
                          const core::Result<HostedProxy>& result) {
  const auto found = watched_.find(id);
  if (found == watched_.end() || !found->second.asked || found->second.asked_at != asked_at) return;
  auto& agent = found->second;
  agent.asked = false;
  if (agent.silent_since < asked_at) agent.look_at = loop_.now() + agent.interval / 2;
  if (!result.ok()) {
    if (result.error().kind == core::ErrorKind::NotFound) return callbacks_.missing(id);
    return begin_silence(agent);
  }
  callbacks_.inspected(*result);
  judge(id, asked_at, result->suspended);
}

/// Called after the engine's answer was passed on, by which the proxy may be forgotten.
void Heartbeats::judge(const std::string& id, TimePoint asked_at, bool suspended) {
  const auto found = watched_.find(id);
  if (found == watched_.end() || !roster_.find(id)->reachable()) return;
  auto& agent = found->second;
  if (agent.silent_since >= asked_at) return;  // it has spoken meanwhile
  if (suspended) return callbacks_.dead(id, "its agent was stopped by a signal");
  const auto now = loop_.now();
  if (now - asked_at > kPromptAnswer) return begin_silence(agent);
  const auto silence = now - agent.silent_since;
  if (silence >= agent.interval * kDead) return callbacks_.dead(id, "its agent does not answer");
  if (silence >= agent.interval * kReconnect && !std::exchange(agent.reconnected, true))
    callbacks_.reconnect(id);
}

}  // namespace kindlb::controller

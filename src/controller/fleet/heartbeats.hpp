#pragma once
// Notices agents that have fallen silent, and finds out why. Silence alone is no evidence: the
// messages of all agents come through the engine, which may hang, and this machine may be starved.
// So the engine is asked about the container first. Lives on the loop's thread.
//
// Rules:
//  - An agent that is stopped by a signal is dead. Whatever else the engine says is passed on.
//  - If nothing is wrong that the engine can see, the channel is replaced once, because its stream
//    may hang, and after a longer silence the agent is dead.
//  - Only silence counts that lasted while the engine answered promptly: what agents sent before
//    may still be on its way. The same holds for silence during which the loop itself was late.
//  - Agents that send no heartbeats are not watched, except for their Hello if they should know
//    better.
// One timer serves all proxies, and none runs while no agent is watched.

#include "fleet/async_host.hpp"
#include "fleet/roster.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace kindlb::controller {

class Heartbeats {
 public:
  struct Callbacks {
    /// What the engine says of a proxy whose agent is silent.
    std::function<void(const HostedProxy& found)> inspected;
    /// The engine does not know the container.
    std::function<void(const std::string& id)> missing;
    std::function<void(const std::string& id)> reconnect;
    std::function<void(const std::string& id, const std::string& why)> dead;
  };

  /// All references must outlive this.
  Heartbeats(Loop& loop, AsyncHost& host, const ProxyRoster& roster, Callbacks callbacks);

  // The proxy is in the roster, except where noted.
  /// A channel was opened, so Hello is due. A silence that led to it goes on.
  void expect_hello(const std::string& id);
  void on_hello(const std::string& id, std::chrono::milliseconds interval);
  /// A message of any kind has come.
  void on_message(const std::string& id);
  /// Its silence so far means nothing, for example because it was paused.
  void excuse(const std::string& id) { on_message(id); }
  /// There is no channel, or no such proxy, any more.
  void forget(const std::string& id) { watched_.erase(id); }

 private:
  using TimePoint = Loop::TimePoint;
  struct Agent {
    std::chrono::milliseconds interval = protocol::kHeartbeatInterval;
    TimePoint silent_since;
    TimePoint look_at;   ///< when to ask the engine next
    TimePoint asked_at;  ///< of the question that is under way
    bool asked = false;
    bool reconnected = false;  ///< in this silence
  };

  void watch(const std::string& id);
  void begin_silence(Agent& agent) const;
  void schedule();
  void tick();
  void ask_next();
  void ask(const std::string& id, Agent& agent);
  void answered(const std::string& id, TimePoint asked_at, const core::Result<HostedProxy>& result);
  void judge(const std::string& id, TimePoint asked_at, bool suspended);

  Loop& loop_;
  AsyncHost& host_;
  const ProxyRoster& roster_;
  const Callbacks callbacks_;
  std::map<std::string, Agent> watched_;  ///< by container id
  std::size_t questions_ = 0;             ///< under way
  TimePoint last_tick_;
  bool scheduled_ = false;
};

}  // namespace kindlb::controller

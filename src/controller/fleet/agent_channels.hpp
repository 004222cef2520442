#pragma once
// The channels to the agents: opened, opened again with back-off, and what waits to be sent on
// them. Knows nothing of what the messages mean, except that each concerns one unit. Lives on the
// loop's thread.
//
// A channel is a stream that can break at any moment, with requests unsent or answers unread. There
// is no replay: `lost` says that nothing sent before will be answered, and the Hello on the next
// channel says what the agent holds.
//
// Invariants:
//  - Nothing is sent before the agent's Hello.
//  - Of the messages that wait for a channel, each unit has only the newest: an Apply is complete,
//    and a Release makes any Apply before it pointless.
//  - No channel is opened to a proxy that is stopped or being removed.

#include "fleet/async_host.hpp"
#include "fleet/roster.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace kindlb::controller {

class AgentChannels {
 public:
  struct Callbacks {
    /// A channel that seemed to hang was replaced: requests sent on it will not be answered.
    std::function<void(const std::string& id)> lost;
    /// A channel is there, and Hello is due.
    std::function<void(const std::string& id)> opened;
    /// The engine did not open a channel; it is tried again.
    std::function<void(const std::string& id)> refused;
    /// The engine does not know the container.
    std::function<void(const std::string& id)> container_missing;
    /// Several attempts have failed: ask the engine whether the container still exists.
    std::function<void()> doubtful;
  };
  using Messages = std::map<std::string, protocol::Message>;  ///< by unit

  /// All references must outlive this.
  AgentChannels(Loop& loop, AsyncHost& host, const ProxyRoster& roster, Callbacks callbacks);

  // `id` is that of a proxy in the roster, except where noted.
  /// Open a channel, unless there is one or the proxy cannot be reached. It is usable after Hello.
  void open(const std::string& id);
  /// Open the channels of adopted proxies, one after the other.
  void open_next_adopted();
  bool is_open(const std::string& id) const;  ///< false for unknown proxies, too

  void on_hello(const std::string& id);
  /// The channel broke. Returns whether it will be opened again.
  bool on_closed(const std::string& id, const std::string& why);
  /// The container was restarted, which has ended the channel.
  void on_restart(const std::string& id);
  /// Replace an open channel, whose stream may hang. One that is being opened is left alone.
  void reopen(const std::string& id);
  /// Forget a proxy that no longer exists.
  void forget(const std::string& id) { channels_.erase(id); }

  /// Return an id for a request; unique over all proxies.
  std::uint64_t next_request_id() { return next_request_id_++; }
  /// Send the message now, or after the next Hello.
  void send(const std::string& id, const std::string& unit, protocol::Message message);
  Messages take_unsent(const std::string& id);
  void discard_unsent(const std::string& id, const std::string& unit);
  /// Replace the channel if the unit's request is the newest one and still unanswered then.
  void expect_answer(const std::string& unit, std::uint64_t request,
                     std::chrono::milliseconds within);

 private:
  /// Opening lasts until Hello.
  enum class State { Closed, Opening, Open };
  struct Channel {
    State state = State::Closed;
    unsigned failures = 0;  ///< in a row
    Messages unsent;
  };

  State state_of(const std::string& id) const;
  void opened(const std::string& id, const core::Result<void>& result);
  void await_hello(const std::string& id);
  void close(const std::string& id);
  void reopen_later(const std::string& id);
  void on_answer_timeout(const std::string& unit, std::uint64_t request);

  Loop& loop_;
  AsyncHost& host_;
  const ProxyRoster& roster_;
  const Callbacks callbacks_;
  std::map<std::string, Channel> channels_;  ///< by container id; none: closed, never tried
  std::uint64_t next_request_id_ = 1;
};

}  // namespace kindlb::controller

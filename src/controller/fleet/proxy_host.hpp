#pragma once
// Where proxies run, as the fleet needs it: an interface, so that tests can use proxies in memory.
// The real one (fleet/docker_proxy_host.hpp) is the module proxy over a docker engine.
//
// Calls may block and are made on executor threads, several at a time; send() and disconnect() do
// not block and are also called on the loop's thread. Messages of agents arrive through Listener,
// on a thread of the host's own.

#include "kindlb/core/result.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::controller {

/// A proxy container as the host reports it.
struct HostedProxy {
  std::string id;
  std::string name;
  std::string network;
  bool running = false;  ///< also while paused
  bool paused = false;
  bool attached = true;    ///< to its network
  bool suspended = false;  ///< its agent was stopped by a signal; only inspect() tells
  bool current = true;     ///< created from the image this kindlb would use
  bool own_pool = true;    ///< false: of another kindlb on this engine
  std::optional<protocol::AgentState> state;  ///< as last written by its agent; absent: unreadable
};

class ProxyHost {
 public:
  /// Receives what agents send. Must not block.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_agent_message(const std::string& id, protocol::Message message) = 0;
    /// The channel broke or ended. Not called after disconnect().
    virtual void on_channel_closed(const std::string& id, const std::string& why) = 0;
  };

  virtual ~ProxyHost() = default;
  /// Set the listener, before the first connect. Null removes it: once this has returned, no call
  /// to the former listener is under way.
  virtual void set_listener(Listener* listener) = 0;

  /// Return every proxy of any kindlb on this engine, with its agent's state.
  virtual core::Result<std::vector<HostedProxy>> list() = 0;
  /// Look at one proxy, without its agent's state. NotFound: it does not exist.
  virtual core::Result<HostedProxy> inspect(const std::string& id) = 0;
  /// Create and start a warm proxy. On failure nothing of it stays behind.
  virtual core::Result<HostedProxy> create(const std::string& network) = 0;
  virtual core::Result<void> start(const std::string& id) = 0;
  /// Name the container after the Service it serves, or after its cluster. Atomic, and for people:
  /// see claimed_name and shared_name.
  virtual core::Result<void> rename(const std::string& id, const std::string& owner,
                                    const std::string& unit) = 0;
  virtual core::Result<void> rename_shared(const std::string& id, const std::string& cluster,
                                           unsigned number) = 0;
  /// Remove the container and its volume. A container that does not exist counts as removed.
  virtual core::Result<void> remove(const std::string& id) = 0;

  /// Remove what a kindlb that was killed has left of proxies: volumes without a container.
  virtual core::Result<void> remove_orphans() = 0;

  /// Open a channel, in place of a former one; the agent's Hello follows.
  virtual core::Result<void> connect(const std::string& id) = 0;
  /// Queue a message. False: there is no channel, or its agent has stopped reading.
  virtual bool send(const std::string& id, const protocol::Message& message) = 0;
  virtual void disconnect(const std::string& id) = 0;
};

}  // namespace kindlb::controller

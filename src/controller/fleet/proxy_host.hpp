#pragma once
// What the fleet asks of the place where proxies live. Calls block and are made on executor
// threads; what agents say arrives through Listener on a thread of the host's own. The real one
// (controller/docker_proxy_host.hpp) is the proxy module over a docker engine.

#include "kindlb/core/result.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::controller {

struct HostedProxy {
  std::string id;
  std::string name;
  std::string network;
  bool running = false;
  bool current = true;                        ///< made from the image this kindlb would use
  bool own_pool = true;                       ///< false: of another kindlb on this engine
  std::optional<protocol::AgentState> state;  ///< as last written by its agent; absent: unreadable
};

class ProxyHost {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_agent_message(const std::string& id, protocol::Message message) = 0;
    virtual void on_channel_closed(const std::string& id, const std::string& why) = 0;
  };

  virtual ~ProxyHost() = default;
  /// Before the first connect. Null: nobody listens any more; once this has returned, no call to
  /// the former listener is under way.
  virtual void set_listener(Listener* listener) = 0;

  /// Every proxy of ours on this engine, with its agent's state.
  virtual core::Result<std::vector<HostedProxy>> list() = 0;
  /// A new one, started, empty. Nothing stays behind on failure.
  virtual core::Result<HostedProxy> create(const std::string& network) = 0;
  virtual core::Result<void> start(const std::string& id) = 0;
  /// For people: which Service it serves.
  virtual core::Result<void> rename(const std::string& id, const std::string& owner,
                                    const std::string& unit) = 0;
  virtual core::Result<void> rename_shared(const std::string& id, const std::string& cluster,
                                           unsigned number) = 0;
  /// With its state. One that is gone counts as removed.
  virtual core::Result<void> remove(const std::string& id) = 0;

  /// Opens the channel; the agent's Hello follows.
  virtual core::Result<void> connect(const std::string& id) = 0;
  /// False: no channel, or it is stuck.
  virtual bool send(const std::string& id, const protocol::Message& message) = 0;
  virtual void disconnect(const std::string& id) = 0;
};

}  // namespace kindlb::controller

#pragma once
// Whether proxies whose containers run can serve: their faults, from what the engine and the agents
// say and from the agents' silence, and when that is reason enough to replace them. The engine's
// events come first, and heartbeats are for what freezes without an event. Lives on the loop's
// thread.
//
// Invariants:
//  - A fault is in the roster, and its Services are told, as soon as it is known; the proxy is
//  given
//    up later, if at all.
//  - An engine that does not answer is no evidence against any proxy.
//  - A proxy that is stopped or being removed has no new faults.

#include "fleet/async_host.hpp"
#include "fleet/heartbeats.hpp"
#include "fleet/proxy_faults.hpp"
#include "fleet/replacements.hpp"
#include "fleet/roster.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"

#include <functional>
#include <string>

namespace kindlb::controller {

class Supervision {
 public:
  struct Callbacks {
    std::function<void(const std::string& id)> changed;    ///< its units' views differ from before
    std::function<void(const std::string& id)> replace;    ///< give it up
    std::function<void(const std::string& id)> stopped;    ///< the engine says it does not run
    std::function<void(const std::string& id)> missing;    ///< the engine does not know it
    std::function<void(const std::string& id)> reachable;  ///< it is paused no longer
    std::function<void(const std::string& id)> reconnect;  ///< its channel may hang
    std::function<void()> doubtful;  ///< the engine did not answer: list all proxies, in time
  };

  /// All references must outlive this.
  Supervision(Loop& loop, AsyncHost& host, ProxyRoster& roster, Callbacks callbacks);

  // What the engine says. Unknown ids are ignored.
  void container_paused(const std::string& id, bool paused);
  /// It was connected to a network, or disconnected from one. The engine is asked what that means,
  /// because a container that stops is disconnected as well.
  void network_changed(const std::string& id, bool connected);
  /// As listed or inspected.
  void observe(const HostedProxy& found);

  // What the agent says. The proxy is in the roster.
  void channel_opened(const std::string& id) { heartbeats_.expect_hello(id); }
  void channel_lost(const std::string& id) { heartbeats_.forget(id); }
  void on_message(const std::string& id, const protocol::Message& message);

  /// Forget a proxy that has stopped or no longer exists.
  void forget(const std::string& id);

 private:
  const Proxy* running(const std::string& id) const;
  void set_faults(const std::string& id, const ProxyFaults& faults);

  AsyncHost& host_;
  ProxyRoster& roster_;
  const Callbacks callbacks_;
  Heartbeats heartbeats_;
  Replacements replacements_;
};

}  // namespace kindlb::controller

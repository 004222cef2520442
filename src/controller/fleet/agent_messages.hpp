#pragma once
// What agents are asked and what they report: Apply and Release go out, Hello, Applied, Rejected
// and Status come in, and the roster is kept accordingly. The channels themselves are not its
// business (AgentChannels). Keeps no state of its own; lives on the loop's thread.
//
// Invariants:
//  - The agent is the authority on what a proxy holds: Hello, Status and the state file replace
//    what was believed (take_report).
//  - Of two proxies that report one unit, the later one is made to release it, since two proxies
//    must never answer for one address.

#include "fleet/agent_channels.hpp"
#include "fleet/roster.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::controller {

class AgentMessages {
 public:
  struct Callbacks {
    std::function<void(const std::string& unit)> changed;  ///< its view may differ from before
    std::function<void(const std::string& id)> unneeded;   ///< remove the proxy
    std::function<void()> warm;                            ///< a warm proxy has started
    std::function<void()> adopted;  ///< a Hello showed units that no listing had shown
  };

  /// Both references must outlive this.
  AgentMessages(ProxyRoster& roster, AgentChannels& channels, Callbacks callbacks);

  // The unit is assigned to a proxy.
  void apply(const core::ProxyConfig& config, const core::Revision& revision,
             const std::vector<core::Probe>& probes);
  /// Release the unit from its proxy. The last unit needs no message: the container goes, with
  /// address, listeners and state.
  void release(const std::string& unit);

  // The proxy is in the roster.
  void take_report(const std::string& id, const std::vector<protocol::UnitState>& units);
  void receive(const std::string& id, const protocol::Message& message);

 private:
  void on(const std::string& id, const protocol::Hello& hello);
  void on(const std::string& id, const protocol::Applied& applied);
  void on(const std::string& id, const protocol::Rejected& rejected);
  void on(const std::string& id, const protocol::Status& status);
  void on(const std::string& id, const protocol::Bye& bye);
  template <typename Other>
  void on(const std::string&, const Other&) {}  // requests: only kindlb sends them

  void on_first_hello(const std::string& id);
  void send_unsent(const std::string& id);
  void send_release(const std::string& id, const std::string& unit);
  void unit_released(std::string unit);
  void release_duplicates(const std::string& id, const std::vector<std::string>& units);
  void notify_units(const std::string& id) const;

  ProxyRoster& roster_;
  AgentChannels& channels_;
  const Callbacks callbacks_;
};

}  // namespace kindlb::controller

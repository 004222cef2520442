#pragma once
// The committed units: for each Service the last unit that Envoy has acknowledged. They are what is
// served, what a restarted container or Envoy gets, and what is gone back to when an update is
// rejected. What kindlb has asked for since is in requests.hpp.
//
// Invariant: memory and the store hold the same units, but for those that could not be stored. Such
// a unit is served all the same, and stored later; after a restart that has lost it, kindlb applies
// it again.
// Not thread-safe; lives as long as the agent.

#include "envoy/admin.hpp"
#include "files.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::agent {

/// A unit, and what only the agent knows about it.
struct CommittedUnit {
  enum class State {
    Unacknowledged,  ///< loaded, or the Envoy that runs now has not accepted it
    Acknowledged,    ///< by the Envoy that runs now
    /// Not served: at start its address was in use by another host, or the kernel refused its UDP
    /// rules. Neither the network nor Envoy gets it until kindlb applies the unit again.
    Suspended,
  };

  protocol::Unit unit;  ///< with the listeners in use: see swap_listener_variants
  State state = State::Unacknowledged;
  /// Key of the request that brought it, 0 if it was stored. Orders units by age: where two
  /// disagree about a route, the newer one is right (see desired_network).
  std::uint64_t committed_by = 0;

  bool operator==(const CommittedUnit&) const = default;
};

/// Put the listeners that rely on UDP rules in the place of those that filter in Envoy, if the unit
/// has rules. Swapping twice gives the original.
protocol::Unit swap_listener_variants(protocol::Unit unit);

class CommittedUnits {
 public:
  /// `behind_rules`: the kernel has the UDP rules, so the listeners in use are those behind them.
  /// Units are stored in the form that kindlb sent: after a restart the kernel may be another one.
  CommittedUnits(UnitStore store, bool behind_rules)
      : store_(std::move(store)), behind_rules_(behind_rules) {}

  /// Read the stored units. One that cannot be read is logged and skipped.
  void load();
  /// Make it the committed unit and store it. REQUIRES: Envoy has acknowledged it.
  void commit(const protocol::Unit& unit, std::uint64_t request);
  /// Try again to store what could not be. Return whether nothing is left.
  bool store_missing();
  /// Forget the unit, here and in the store. Return what it was; nothing if there was none.
  std::optional<protocol::Unit> release(const std::string& unit);
  /// Do not serve the unit, if there is one.
  void suspend(const std::string& unit, const std::string& why);
  /// Suspend every unit that needs UDP rules.
  void suspend_filtered(const std::string& why);
  /// Take over what Envoy has decided after its start. One that it does not accept any more stays
  /// committed: kindlb sees that it is not acknowledged and applies it again. `reason` is asked
  /// where the status has no text.
  void acknowledge(const AckStatuses& statuses,
                   const std::function<std::string(const protocol::Unit&)>& reason);
  /// Envoy has exited.
  void forget_acknowledgements();

  bool empty() const { return units_.empty(); }
  /// Return nullptr if there is none. Valid until the next change.
  const CommittedUnit* find(const std::string& unit) const;
  /// Return those that are not suspended, by name.
  std::vector<const CommittedUnit*> served() const;
  /// Return what they contribute to Envoy's configuration, without the units named in `except`.
  XdsSnapshot snapshot(const std::vector<std::string>& except = {}) const;
  /// Return each unit's addresses, by name.
  std::map<std::string, std::vector<core::Cidr>> addresses() const;
  /// Return what is reported about them.
  std::vector<protocol::UnitState> states() const;

 private:
  using State = CommittedUnit::State;

  core::Result<void> store(const protocol::Unit& unit) const;

  UnitStore store_;
  bool behind_rules_;
  std::map<std::string, CommittedUnit> units_;  ///< by unit name
  std::set<std::string> unstored_;
};

}  // namespace kindlb::agent

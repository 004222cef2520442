#pragma once
// Which proxy a Service goes to: room reserved on existing proxies, and proxies that are being
// created, with the Services that wait for them. Makes no call: the fleet creates, assigns and
// releases. Lives on the loop's thread.
//
// The decision itself is core::place, a pure function of the proxies' load. It is made once, when a
// Service has no proxy: later changes never move a Service off a healthy proxy that has room for
// it, because moving interrupts connections.
//
// Invariant: a unit waits for at most one proxy that is being created.

#include "fleet/roster.hpp"
#include "kindlb/base/clock.hpp"
#include "kindlb/core/placement.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::controller {

class Placement {
 public:
  using TimePoint = base::Clock::TimePoint;

  /// A proxy that is being created, with the Services that will be assigned to it. It counts like
  /// an existing one, so that many Services created at once do not create a proxy each.
  struct PendingProxy {
    std::string network;
    std::string cluster;
    std::map<std::string, ProxyRequest> requests;  ///< by unit
    bool unwanted = false;                         ///< its last request was withdrawn
  };

  enum class Withdrawal {
    NotWaiting,
    Withdrawn,
    /// It was the last one. The unit goes on waiting, so that its Service is not finished until the
    /// container is removed again.
    Last,
  };

  /// `services_per_proxy`: 0 for no limit. `is_connected`: whether the channel to the proxy's agent
  /// is open. The roster must outlive this.
  Placement(const ProxyRoster& roster, std::size_t services_per_proxy,
            std::function<bool(const std::string& id)> is_connected);

  /// Return the proxy for a Service that has none: the id of an existing or a pending one. Nothing:
  /// a new one is needed.
  std::optional<std::string> choose(const ProxyRequest& request, TimePoint now) const;
  /// Return whether the unit, with the watches it has now, no longer fits on its proxy.
  bool outgrows(const Proxy& proxy, const std::string& unit, TimePoint now) const;
  /// Return the number for the name of a proxy that starts to serve the cluster; 0 if proxies are
  /// not shared.
  unsigned next_number(const std::string& cluster) const;

  /// Keep room on the proxy for the Service's claim. Expires, because the Service may be deleted in
  /// between. False: it is reserved already.
  bool reserve(const std::string& id, const ProxyRequest& request, TimePoint now);
  void cancel_reservation(const std::string& id, const std::string& unit);
  /// Forget a proxy that no longer exists.
  void forget(const std::string& id) { reservations_.erase(id); }

  /// Note that a proxy is being created for the request. Returns the id it has until finish().
  std::string begin(const ProxyRequest& request);
  /// Let the request wait for a pending proxy. False: there is none with that id.
  bool join(const std::string& id, const ProxyRequest& request);
  Withdrawal withdraw(const std::string& unit);
  /// The creation has ended. Returns what waited for it.
  PendingProxy finish(const std::string& id);
  bool is_waiting(const std::string& unit) const;
  bool has_pending() const { return !pending_.empty(); }

 private:
  struct Reservation {
    std::string cluster;
    std::size_t watches = 1;
    TimePoint until;
  };
  using Reservations = std::map<std::string, Reservation>;  ///< by unit

  /// `excluding`: a unit not to be counted.
  core::ProxyLoad load_of(const Proxy& proxy, const std::string& excluding, TimePoint now) const;
  bool can_serve(const Proxy& proxy) const;
  std::vector<core::ProxyLoad> loads(const std::string& excluding, TimePoint now) const;

  const ProxyRoster& roster_;
  const std::size_t services_per_proxy_;
  const std::function<bool(const std::string& id)> is_connected_;
  std::map<std::string, Reservations> reservations_;  ///< by container id
  std::map<std::string, PendingProxy> pending_;       ///< by "pending-N", until there is an id
  std::uint64_t next_pending_ = 1;
};

}  // namespace kindlb::controller

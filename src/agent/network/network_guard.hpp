#pragma once
// Puts back what the container's network namespace has lost: an address, a route or a UDP rule that
// somebody deleted, or all of them after the interface went down or was replaced (`docker network
// disconnect` and `connect`).
//
// It looks when the kernel has reported a change (netlink_monitor.hpp), compares what the agent has
// added with what is there, and has NetworkSync add what is missing, so its own changes end in a
// look that finds nothing. Somebody who deletes again and again is answered a few times a second.
// An address that was lost with its interface is checked first, as a new one is.
//
// What cannot be put back is a problem, which is reported; it is tried again at every change and
// every few seconds. Runs on the loop, which must outlive it as must the others; not thread-safe.

#include "network/address_checks.hpp"
#include "network/network_sync.hpp"

#include <functional>
#include <string>

namespace kindlb::agent {

class NetworkGuard {
 public:
  /// From a change to the look: changes come in groups.
  static constexpr std::chrono::milliseconds kSettle{10};
  /// From a look that found something to the next one.
  static constexpr std::chrono::milliseconds kPause{300};
  /// From a look that left a problem to the next one, if nothing changes.
  static constexpr std::chrono::seconds kRetry{5};
  /// Losses are logged at most this often.
  static constexpr std::chrono::seconds kLogPause{10};

  struct Parts {
    Network& network;
    PacketFilter& filter;
    AddressChecks& checks;
    NetworkSync& sync;
  };

  /// `problem_changed`: problem() has another text now.
  NetworkGuard(Loop& loop, Parts parts, std::function<void()> problem_changed)
      : loop_(loop), parts_(parts), problem_changed_(std::move(problem_changed)) {}
  ~NetworkGuard() { loop_.cancel(timer_); }
  NetworkGuard(const NetworkGuard&) = delete;
  NetworkGuard& operator=(const NetworkGuard&) = delete;

  /// Something has changed in the namespace, perhaps.
  void changed();
  /// What the namespace lacks, for users; empty if nothing.
  const std::string& problem() const { return problem_; }

 private:
  void look_at(Loop::TimePoint time);
  void look();
  void log_losses(const NetworkLosses& losses);
  void restore();
  void check_held_back();
  void checked(const core::Cidr& address, const AddressChecks::Problem& problem);
  void note(const std::string& problem);
  void conclude();

  Loop& loop_;
  Parts parts_;
  std::function<void()> problem_changed_;
  std::string problem_;
  std::string found_;         ///< the first problem of this look
  std::string refused_;       ///< what could not be added
  std::size_t checking_ = 0;  ///< addresses whose check has not ended
  bool admitted_ = false;     ///< by a check of this look
  bool looking_soon_ = false;
  Loop::TimerId timer_ = 0;
  Loop::TimePoint not_before_{};
  Loop::TimePoint quiet_until_{};
};

}  // namespace kindlb::agent

#pragma once
// Addresses that another host has answered for. They are left alone for a while, since nothing
// tells when that host gives them up. A plain value; the time is an argument.

#include "kindlb/core/ip.hpp"
#include "loop.hpp"

#include <chrono>
#include <map>
#include <set>
#include <vector>

namespace kindlb::controller {

class AddressConflicts {
 public:
  static constexpr std::chrono::seconds kMemory{60};

  void note(const std::vector<core::IpAddress>& addresses, Loop::TimePoint now);
  /// Return the addresses that are left alone at this time.
  std::set<core::IpAddress> at(Loop::TimePoint now) const;
  /// A container has stopped, and it may have been that host.
  void clear() { until_.clear(); }

 private:
  std::map<core::IpAddress, Loop::TimePoint> until_;
};

}  // namespace kindlb::controller

#pragma once
// Where UDP rules are installed, as a seam: see nftables_filter.hpp for the kernel's. Not
// thread-safe.

#include "kindlb/core/result.hpp"
#include "udp/nftables.hpp"

namespace kindlb::agent {

class PacketFilter {
 public:
  virtual ~PacketFilter() = default;

  /// False: set() does nothing, and Envoy must filter. Never changes.
  virtual bool is_supported() const = 0;
  /// Install these rules in the place of all others.
  virtual core::Result<void> set(const nftables::Rules& rules) = 0;
  /// Return whether another program has changed the kernel's rules since they were set. Then they
  /// are forgotten, and the next set() installs them whatever they were.
  virtual bool find_changes() = 0;
};

}  // namespace kindlb::agent

#pragma once
// The gates of the container's network namespace, as rules of nf_tables. Needs only CAP_NET_ADMIN.
// Calls are short and blocking (the kernel answers at once). Not thread-safe.

#include "kindlb/core/result.hpp"
#include "network/nftables.hpp"

#include <optional>

namespace kindlb::agent {

class PacketFilter {
 public:
  /// Asks the kernel whether it can do all of it: nf_tables, or a family, may not be there.
  PacketFilter();

  /// False: rules have no effect, and Envoy must do it.
  bool is_supported() const { return supported_; }
  /// The rules from now on. Datagrams on their way meet either the old ones or the new ones.
  core::Result<void> set(const nftables::Rules& rules);

 private:
  bool supported_ = false;
  std::optional<nftables::Rules> rules_;  ///< none: a family may have others
};

}  // namespace kindlb::agent

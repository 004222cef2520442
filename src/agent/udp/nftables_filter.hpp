#pragma once
// The UDP rules of the container's network namespace, installed through nf_tables. Needs
// CAP_NET_ADMIN and no `nft` program. It owns the table "kindlb" of each family and replaces it as
// a whole. Calls block, briefly: the kernel replies at once. Not thread-safe.

#include "udp/packet_filter.hpp"

#include <optional>

namespace kindlb::agent {

class NftablesFilter final : public PacketFilter {
 public:
  /// Find out whether the kernel supports every expression that rules use, in both families, by
  /// installing a rule for an address that gets no datagrams: a kernel may have nf_tables without
  /// all of its modules. Removes the rules of a former run in this namespace.
  NftablesFilter();

  bool is_supported() const override { return supported_; }
  /// For each family in one transaction. After an error a family may have either its old rules or
  /// the new ones; the next call installs both again.
  core::Result<void> set(const nftables::Rules& rules) override;
  bool find_changes() override;

 private:
  bool supported_ = false;
  std::optional<nftables::Rules> rules_;  ///< in force; none: unknown after an error
  /// Of all rules in the namespace, when these were set. Every change by anybody moves it.
  std::optional<std::uint32_t> generation_;
};

}  // namespace kindlb::agent

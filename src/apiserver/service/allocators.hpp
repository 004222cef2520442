#pragma once
// The allocators of cluster IPs and node ports, after ipallocator and portallocator of
// kube-apiserver. Each range has a static band at its low end (KEP-3070 for IPs, KEP-3668 for
// ports): dynamic allocation avoids it until the rest is full, so that a Service that requests a
// number from the band rarely collides with one that was allocated dynamically.
//
// Not thread-safe: used under the store's lock. Not persistent: rebuilt from the Services.

#include "kindlb/core/ip.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::apiserver {

/// Why an allocation failed, in kube-apiserver's words; empty: it succeeded.
using AllocationError = std::string;

class IpAllocator {
 public:
  explicit IpAllocator(core::Cidr range);

  const core::Cidr& range() const { return range_; }
  AllocationError allocate(const core::IpAddress& address);
  /// Allocate a free address outside the static band, or from it if there is none. Nothing: full.
  std::optional<core::IpAddress> allocate_next();
  void release(const core::IpAddress& address) { allocated_.erase(address); }
  std::size_t allocated() const { return allocated_.size(); }

 private:
  bool usable(const core::IpAddress& address) const;
  std::optional<core::IpAddress> allocate_from(const core::IpAddress& lowest);

  core::Cidr range_;
  core::IpAddress dynamic_first_;  ///< the lowest address above the static band
  core::IpAddress next_;           ///< where the next search begins: released ones are reused late
  std::set<core::IpAddress> allocated_;
};

class PortAllocator {
 public:
  PortAllocator(int first, int last);

  AllocationError allocate(int port);
  /// As IpAllocator::allocate_next().
  std::optional<int> allocate_next();
  void release(int port) { allocated_.erase(port); }
  std::size_t allocated() const { return allocated_.size(); }

 private:
  std::optional<int> allocate_between(int lowest, int highest);

  int first_;
  int last_;
  int dynamic_first_;
  int next_ = 0;  ///< offset of the next search in the part that is searched
  std::set<int> allocated_;
};

struct Allocators {
  std::vector<IpAllocator> ips;       ///< one per family; the first is that of Services by default
  PortAllocator ports{30000, 32767};  ///< --service-node-port-range, health checks included

  /// Null: the cluster does not have this family.
  IpAllocator* of(core::IpFamily family);
};

/// The allocations and releases of one write. Allocations take effect at once, so that two ports of
/// one Service get different numbers, and are undone by the destructor unless committed. Releases
/// take effect on commit: until the write succeeds, no other Service may get these numbers, and the
/// old object still holds them.
class AllocationTransaction {
 public:
  explicit AllocationTransaction(Allocators& allocators) : allocators_(allocators) {}
  ~AllocationTransaction();
  AllocationTransaction(const AllocationTransaction&) = delete;
  AllocationTransaction& operator=(const AllocationTransaction&) = delete;

  AllocationError allocate_port(int port);
  std::optional<int> allocate_next_port();
  AllocationError allocate_ip(const core::IpAddress& address);
  std::optional<core::IpAddress> allocate_next_ip(core::IpFamily family);
  void release_port(int port) { released_ports_.push_back(port); }
  void release_ip(const core::IpAddress& address) { released_ips_.push_back(address); }

  bool has(core::IpFamily family) const { return allocators_.of(family) != nullptr; }
  std::size_t families() const { return allocators_.ips.size(); }
  core::IpFamily default_family() const { return allocators_.ips.front().range().address.family(); }
  /// Keep the allocations and carry out the releases. The transaction is empty afterwards.
  void commit();

 private:
  void release_now(const core::IpAddress& address);

  Allocators& allocators_;
  std::vector<int> allocated_ports_;
  std::vector<core::IpAddress> allocated_ips_;
  std::vector<int> released_ports_;
  std::vector<core::IpAddress> released_ips_;
};

}  // namespace kindlb::apiserver

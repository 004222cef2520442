#pragma once
// Where cluster IPs and node ports come from. Not thread-safe: used under the store's lock.
//
// As with the real allocators (KEP-3070, KEP-3668), what nobody asked for by number comes from
// above a low band while that lasts: who chooses a number from the band meets none chosen by
// chance.

#include "kindlb/core/ip.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::apiserver {

/// Empty: done; otherwise why not, in the real server's words.
using AllocationError = std::string;

class IpAllocator {
 public:
  explicit IpAllocator(core::Cidr range);

  const core::Cidr& range() const { return range_; }
  AllocationError allocate(const core::IpAddress& address);
  /// Nothing: all are in use.
  std::optional<core::IpAddress> allocate_next();
  void release(const core::IpAddress& address) { allocated_.erase(address); }
  std::size_t allocated() const { return allocated_.size(); }

 private:
  bool usable(const core::IpAddress& address) const;
  std::optional<core::IpAddress> allocate_from(const core::IpAddress& lowest);

  core::Cidr range_;
  core::IpAddress dynamic_first_;
  core::IpAddress next_;
  std::set<core::IpAddress> allocated_;
};

class PortAllocator {
 public:
  PortAllocator(int first, int last);

  AllocationError allocate(int port);
  std::optional<int> allocate_next();
  void release(int port) { allocated_.erase(port); }
  std::size_t allocated() const { return allocated_.size(); }

 private:
  std::optional<int> allocate_between(int lowest, int highest);

  int first_;
  int last_;
  int dynamic_first_;
  int next_ = 0;  ///< where the search goes on, from the lowest of the part searched
  std::set<int> allocated_;
};

struct Allocators {
  std::vector<IpAllocator> ips;  ///< one or two families, the first is the default
  PortAllocator ports{30000, 32767};

  IpAllocator* of(core::IpFamily family);
};

/// What one write takes and gives back, as a whole: taken at once, so that two ports of one Service
/// differ; undone by the destructor unless committed; released only by the commit.
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

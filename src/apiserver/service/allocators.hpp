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
using Complaint = std::string;

class IpPool {
 public:
  explicit IpPool(core::Cidr range);

  const core::Cidr& range() const { return range_; }
  Complaint take(const core::IpAddress& address);
  /// Nothing: all are in use.
  std::optional<core::IpAddress> take_any();
  void release(const core::IpAddress& address) { used_.erase(address); }
  std::size_t used() const { return used_.size(); }

 private:
  bool usable(const core::IpAddress& address) const;
  std::optional<core::IpAddress> take_from(const core::IpAddress& lowest);

  core::Cidr range_;
  core::IpAddress above_band_;
  core::IpAddress next_;
  std::set<core::IpAddress> used_;
};

class PortPool {
 public:
  PortPool(int first, int last);

  Complaint take(int port);
  std::optional<int> take_any();
  void release(int port) { used_.erase(port); }
  std::size_t used() const { return used_.size(); }

 private:
  std::optional<int> take_between(int lowest, int highest);

  int first_;
  int last_;
  int above_band_;
  int next_ = 0;  ///< where the search goes on, from the lowest of the part searched
  std::set<int> used_;
};

struct Pools {
  std::vector<IpPool> ips;  ///< one or two families, the first is the default
  PortPool ports{30000, 32767};

  IpPool* of(core::IpFamily family);
};

/// What one write takes and gives back, as a whole: taken at once, so that two ports of one Service
/// differ; undone by the destructor unless committed; released only by the commit.
class Reservation {
 public:
  explicit Reservation(Pools& pools) : pools_(pools) {}
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  Complaint take_port(int port);
  std::optional<int> take_any_port();
  Complaint take_ip(const core::IpAddress& address);
  std::optional<core::IpAddress> take_any_ip(core::IpFamily family);
  void release_port(int port) { released_ports_.push_back(port); }
  void release_ip(const core::IpAddress& address) { released_ips_.push_back(address); }

  bool has(core::IpFamily family) const { return pools_.of(family) != nullptr; }
  std::size_t families() const { return pools_.ips.size(); }
  core::IpFamily default_family() const { return pools_.ips.front().range().address.family(); }
  void commit();

 private:
  void free_ip(const core::IpAddress& address);

  Pools& pools_;
  std::vector<int> taken_ports_;
  std::vector<core::IpAddress> taken_ips_;
  std::vector<int> released_ports_;
  std::vector<core::IpAddress> released_ips_;
};

}  // namespace kindlb::apiserver

#pragma once
// Address conflict detection: is an address in use by another host of the Docker network? Docker
// does not know the addresses that proxies add, and another container may have been started with
// one.
//
// RFC 5227 probes with ARP packets of its own, which needs CAP_NET_RAW. With CAP_NET_ADMIN alone
// the kernel can be made to ask: forget the neighbour, send a datagram, and read the neighbour
// table. On a local bridge a host answers within a millisecond, so 20 ms of silence mean free. That
// result holds for a few seconds, so that an Apply after a Prepare does not wait again. An address
// the agent has added itself is not checked. Runs on the loop, which must outlive it as must the
// network; not thread-safe.

#include "loop.hpp"
#include "network/network.hpp"

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

class AddressChecks {
 public:
  /// What keeps an address from being taken, for users; none: every address is free or this
  /// container's own.
  using Problem = std::optional<std::string>;
  using Done = std::function<void(const Problem& problem)>;

  AddressChecks(Loop& loop, Network& network) : loop_(loop), network_(network) {}

  /// Check all of the addresses; `done` is called once, perhaps before check() returns.
  void check(const std::vector<core::Cidr>& addresses, Done done);
  /// Do not rely on former results for these addresses: they were lost, and others may have them.
  void forget(const std::vector<core::Cidr>& addresses);
  /// Solicit again for running checks, with a new reply window: the neighbour table was emptied, as
  /// Network::announce does.
  void restart();

  static constexpr std::chrono::milliseconds kReplyWindow{20};
  static constexpr std::chrono::seconds kFreeFor{5};

 private:
  struct Pending {
    std::vector<core::IpAddress> addresses;
    Loop::TimePoint until;
    Done done;
  };

  bool is_known_free(const core::IpAddress& address) const;
  Problem solicit(Pending& pending);
  void poll_neighbours();
  void poll_later();
  Problem conflict_of(const Pending& pending);
  void remember_free(const Pending& pending);

  Loop& loop_;
  Network& network_;
  std::map<core::IpAddress, Loop::TimePoint> free_;  ///< found free, and when
  std::list<Pending> pending_;
  bool polling_ = false;
};

}  // namespace kindlb::agent

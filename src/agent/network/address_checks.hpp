#pragma once
// Finds out whether addresses are free, without raw sockets: makes the kernel ask for each and
// watches its neighbour table for 20 ms. Silence means free; that answer is good for a few seconds,
// so that an Apply after a Prepare does not wait again. Runs on the loop; not thread-safe.

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
  /// Empty: every address is free or already ours. Otherwise what is wrong, for people.
  using Done = std::function<void(const std::string& problem)>;

  AddressChecks(Loop& loop, Network& network) : loop_(loop), network_(network) {}

  /// May call `done` before it returns.
  void check(const std::vector<core::Cidr>& addresses, Done done);
  /// The namespace's neighbour table was emptied (an announcement does that): asks again.
  void restart();

  static constexpr std::chrono::milliseconds kReplyWindow{20};
  static constexpr std::chrono::seconds kFreeFor{5};

 private:
  struct Pending {
    std::vector<core::IpAddress> addresses;
    Loop::Clock::time_point until;
    Done done;
  };

  bool is_known_free(const core::IpAddress& address) const;
  std::string solicit(Pending& pending);
  void poll_neighbours();
  void poll_later();
  /// Nothing: still waiting. Empty: free.
  std::optional<std::string> result_of(const Pending& pending);

  Loop& loop_;
  Network& network_;
  std::map<core::IpAddress, Loop::Clock::time_point> free_;
  std::list<Pending> pending_;
  bool polling_ = false;
};

}  // namespace kindlb::agent

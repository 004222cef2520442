#pragma once
// The parts of a fleet one by one: proxies in memory, a roster, and a loop whose time the test
// owns. What a part calls back is noted in `calls`, in order.

#include "controller/harness.hpp"
#include "fleet/async_host.hpp"
#include "fleet/roster.hpp"
#include "support/printing.hpp"

#include <string>
#include <utility>
#include <vector>

namespace kindlb::test {

using Calls = std::vector<std::string>;

inline controller::ProxyRequest request_for(const std::string& unit, std::size_t watches = 1,
                                            const std::string& cluster = "kind") {
  return {unit, cluster + "/default/" + unit, "kind", watches};
}

inline protocol::UnitState reported(const std::string& unit, std::size_t watches = 1) {
  return {unit, "kind/default/" + unit, "s.d", true, {cidr("172.18.0.250/24")}, watches};
}

inline controller::HostedProxy container(const std::string& id) {
  return {.id = id, .name = "warm-" + id, .network = "kind", .running = true};
}

/// Derived rigs add the part and end with start(); they stop() before the part is destroyed.
class PartsRig {
 public:
  /// Call the part on the loop's thread, and wait until all that follows at once has happened.
  template <typename Act>
  void act(Act act) {
    thread_.on_loop([&] { act(); });
    thread_.settle();
  }
  /// Let time pass; whatever is under way or due ends.
  void pass(std::chrono::milliseconds duration) { thread_.pass(duration); }
  /// Add a proxy that runs on the host to the roster.
  std::string add_proxy(const std::string& network = "kind") {
    const auto id = host.add_warm(network);
    act([&] {
      auto added = container(id);
      added.network = network;
      roster.add(std::move(added));
    });
    return id;
  }
  void assign(const std::string& id, const std::string& unit) {
    act([&] { roster.assign(id, request_for(unit)); });
  }
  Calls take_calls() { return std::exchange(calls, {}); }
  /// Return a callback that notes its name and what it was given.
  auto note(const std::string& name) {
    return [this, name](const std::string& subject) { calls.push_back(name + " " + subject); };
  }

  testing::ManualClock clock;
  testing::Journal journal;
  testing::FakeProxyHost host{journal};
  controller::ProxyRoster roster;
  Calls calls;  ///< written on the loop's thread; read when nothing is under way

 protected:
  controller::Loop& loop() { return thread_.loop(); }
  void start() { thread_.start(); }
  void stop() { thread_.stop(); }

 private:
  LoopThread thread_{clock};

 protected:
  controller::AsyncHost async{thread_.loop(), thread_.engine_work(), host};
};

inline const core::Error kAway{core::ErrorKind::Unavailable, "call", "refused"};
inline const core::Error kImpossible{core::ErrorKind::Invalid, "call", "no space left"};

}  // namespace kindlb::test

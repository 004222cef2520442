#pragma once
// A fleet over proxies in memory, with a loop of its own; the tests play the reconciler.

#include "controller/harness.hpp"
#include "support/printing.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::test {

class FleetRig {
 public:
  explicit FleetRig(std::size_t warm = 0, std::size_t per_proxy = 1)
      : fleet_(thread_.loop(), thread_.engine_work(), host,
               {.warm_proxies = warm, .services_per_proxy = per_proxy},
               {.changed =
                    [this](const std::string& unit) {
                      ++changes[unit];
                      const auto trouble = fleet_.view(unit).trouble;
                      if (!trouble.empty()) troubles[unit] = trouble;
                    },
                .claim_failed = [this](const std::string& unit,
                                       const core::Error& why) { failures[unit].push_back(why); },
                .discovered = [this] { ++discoveries; }}) {
    host.set_listener(&fleet_);
    host.on_event([this](const std::string& action, const std::string& id) {
      thread_.loop().post([this, action, id] { tell_event(fleet_, action, id); });
    });
    fleet_.keep_warm_on({"kind"});
    thread_.start();
  }
  ~FleetRig() {
    host.on_event(nullptr);
    host.set_listener(nullptr);
    thread_.stop();
  }

  /// Runs on the loop's thread.
  template <typename Ask>
  auto with(Ask ask) {
    return thread_.on_loop([this, ask = std::move(ask)] { return ask(fleet_); });
  }
  template <typename Holds>
  bool until(Holds holds) {
    return thread_.wait_until([&] { return holds(fleet_); });
  }
  /// Let time pass; whatever is due meanwhile happens.
  void pass(std::chrono::milliseconds duration) { thread_.pass(duration); }
  void start_heartbeats() { send_heartbeats(thread_.loop(), host); }
  bool discover() {
    with([](auto& fleet) { fleet.discover(); });
    return until([](auto& fleet) { return fleet.discovered(); });
  }
  void claim(const std::string& unit) {
    with([&](auto& fleet) { fleet.claim({unit, "kind/default/" + unit, "kind"}); });
  }
  core::ProxyView view(const std::string& unit) {
    return with([&](auto& fleet) { return fleet.view(unit); });
  }
  bool until_live(const std::string& unit) {
    return until([&](auto& fleet) { return fleet.view(unit).present && fleet.view(unit).live; });
  }
  bool until_warm(std::size_t count) {
    return until([=](auto& fleet) { return fleet.warm_count() == count; });
  }

  static core::ProxyConfig config(const std::string& unit, std::uint16_t port = 80) {
    core::ProxyConfig out{.unit = unit, .owner = {"kind", "default", unit}};
    out.addresses = {cidr("172.18.0.250/24")};
    const auto name = unit + "/TCP/" + std::to_string(port) + "/v4";
    out.listeners = {{.name = name, .address = ip("172.18.0.250"), .port = port, .backend = name}};
    out.backends = {{.name = name, .targets = {target("10.244.0.5", 8080)}}};
    return out;
  }
  core::Revision apply(const std::string& unit, std::uint16_t port = 80) {
    const auto wanted = config(unit, port);
    const auto revision = core::revision_of(wanted);
    with([&](auto& fleet) {
      fleet.apply(unit, wanted, revision, {{"TCP/80", wanted.backends[0].targets}});
    });
    return revision;
  }
  bool until_acknowledged(const std::string& unit, const core::Revision& revision) {
    return until([&](auto& fleet) { return fleet.view(unit).acknowledged == revision; });
  }
  /// Claimed, live and configured.
  std::string serve(const std::string& unit) {
    claim(unit);
    REQUIRE(until_live(unit));
    REQUIRE(until_acknowledged(unit, apply(unit)));
    return host.holder_of(unit);
  }

  testing::ManualClock clock;
  testing::Journal journal;
  testing::FakeProxyHost host{journal};
  // Written on the loop's thread; to be read there, or when nothing is under way.
  std::map<std::string, int> changes;
  std::map<std::string, std::string> troubles;  ///< the last of each unit, also if it has passed
  std::map<std::string, std::vector<core::Error>> failures;
  int discoveries = 0;

 private:
  LoopThread thread_{clock};
  controller::Fleet fleet_;
};

inline const core::Error kEngineSaysNo{core::ErrorKind::Invalid, "create", "no space left"};
inline const core::Error kEngineIsAway{core::ErrorKind::Unavailable, "create", "refused"};

}  // namespace kindlb::test

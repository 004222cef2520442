#pragma once
// The world around the agent's classes, without a kernel, an Envoy or real time: a network
// namespace, a packet filter and Envoy's decisions, with state. All of them note what changes in
// one list of steps, so that a test can check the order of effects across classes.

#include "envoy/ack_source.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "network/network.hpp"
#include "udp/packet_filter.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::testing {

/// What happened, in order.
class Steps {
 public:
  void note(const std::string& step) { text_ += (text_.empty() ? "" : "; ") + step; }
  /// Return the steps since the last call: "add address 10.0.0.1; announce".
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

class FakeNetwork final : public agent::Network {
 public:
  explicit FakeNetwork(Steps& steps) : steps_(steps) {}

  /// Hosts that answer for an address: their MAC addresses.
  std::map<core::IpAddress, std::string> neighbours;
  std::set<core::Cidr> refused_addresses;
  std::set<core::Cidr> refused_routes;
  std::set<core::Cidr> connected_routes;  ///< with open connections: kept when stale
  std::set<core::IpAddress> refused_solicitations;
  agent::NetworkLosses losses;  ///< what somebody has deleted; found once
  std::string link_problem;
  bool unreadable = false;
  int looks = 0;  ///< for losses

  bool holds(const core::IpAddress& address) const override {
    for (const auto& held : now_.addresses)
      if (held.address == address) return true;
    return false;
  }
  core::Result<void> add_addresses(const agent::DesiredNetwork& desired) override {
    core::Result<void> out;
    for (const auto& address : desired.addresses) {
      if (now_.addresses.contains(address)) continue;
      if (refused_addresses.contains(address)) {
        if (out) out = refusal("add address " + address.text());
        continue;
      }
      now_.addresses.insert(address);
      unannounced_ = true;
      steps_.note("add address " + address.text());
    }
    return out;
  }
  core::Result<void> add_routes(const agent::DesiredNetwork& desired) override {
    core::Result<void> out;
    for (const auto& [to, via] : desired.routes) {
      if (now_.routes.contains(to) && now_.routes.at(to) == via) continue;
      if (refused_routes.contains(to)) {
        if (out) out = refusal("add route " + to.text());
        continue;
      }
      now_.routes.insert_or_assign(to, via);
      steps_.note("add route " + to.text() + " via " + via.text());
    }
    return out;
  }
  bool announce() override {
    if (unannounced_) steps_.note("announce");
    return std::exchange(unannounced_, false);
  }
  bool remove_stale(const agent::DesiredNetwork& desired) override {
    bool kept = false;
    std::erase_if(now_.routes, [&](const auto& route) {
      if (desired.routes.contains(route.first)) return false;
      kept = kept || connected_routes.contains(route.first);
      if (connected_routes.contains(route.first)) return false;
      steps_.note("remove route " + route.first.text());
      return true;
    });
    std::erase_if(now_.addresses, [&](const core::Cidr& address) {
      if (desired.addresses.contains(address)) return false;
      steps_.note("remove address " + address.text());
      return true;
    });
    return kept;
  }
  core::Result<agent::NetworkLosses> find_losses() override {
    ++looks;
    if (unreadable) return refusal("list addresses");
    agent::NetworkLosses out = std::exchange(losses, {});
    for (const auto* lost : {&out.addresses, &out.stranded})
      for (const auto& address : *lost) now_.addresses.erase(address);
    for (const auto& route : out.routes) now_.routes.erase(route.to);
    out.problem = link_problem;
    return out;
  }
  core::Result<void> solicit(const core::IpAddress& address) override {
    if (refused_solicitations.contains(address)) return refusal("check " + address.text());
    steps_.note("solicit " + address.text());
    return {};
  }
  std::optional<std::string> find_neighbour(const core::IpAddress& address) override {
    const auto found = neighbours.find(address);
    return found == neighbours.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static core::Error refusal(const std::string& operation) {
    return {core::ErrorKind::Invalid, operation, "refused"};
  }

  Steps& steps_;
  agent::DesiredNetwork now_;
  bool unannounced_ = false;
};

class FakeFilter final : public agent::PacketFilter {
 public:
  explicit FakeFilter(Steps& steps) : steps_(steps) {}

  bool supported = true;
  bool refusing = false;
  bool deleted = false;  ///< by somebody else

  bool is_supported() const override { return supported; }
  core::Result<void> set(const agent::nftables::Rules& rules) override {
    if (!supported || rules == rules_) return {};
    if (refusing) return core::Error{core::ErrorKind::Invalid, "install rules", "refused"};
    rules_ = rules;
    steps_.note("rules " + text_of(rules));
    return {};
  }
  bool find_changes() override {
    if (!std::exchange(deleted, false)) return false;
    rules_ = {};
    return true;
  }
  std::string text() const { return text_of(rules_); }

  /// "53 filtered, 53->1053, idle 53->1053": ports only.
  static std::string text_of(const agent::nftables::Rules& rules) {
    std::string out;
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    for (const auto& rule : rules.active) {
      auto text = std::to_string(rule.at.port);
      if (rule.divert != 0) text += "->" + std::to_string(rule.divert);
      add(text + (rule.restricted ? " filtered" : ""));
    }
    for (const auto& rule : rules.idle)
      add("idle " + std::to_string(rule.at.port) + "->" + std::to_string(rule.divert));
    return out.empty() ? "none" : out;
  }

 private:
  Steps& steps_;
  agent::nftables::Rules rules_;
};

/// Envoy's decisions, made by the test.
class FakeAcks final : public agent::AckSource {
 public:
  explicit FakeAcks(Steps& steps) : steps_(steps) {}

  agent::AdminStats stats;
  agent::AdminStats before;  ///< of the run

  void start(std::vector<protocol::Unit> units, agent::AdminStats since,
             OnChange on_change) override {
    before = std::move(since);
    on_change_ = std::move(on_change);
    statuses_.clear();
    std::string names;
    for (const auto& unit : units) names += " " + unit.unit + "@" + unit.revision;
    steps_.note("await" + (names.empty() ? " rollback" : names));
  }
  void stop() override { on_change_ = nullptr; }
  void reset() override {
    stop();
    stats = {};
    statuses_.clear();
  }
  const agent::AdminStats& latest() const override { return stats; }
  const agent::AckStatuses& statuses() const override { return statuses_; }

  bool is_running() const { return on_change_ != nullptr; }
  /// Report statuses; the run ends unless one is pending.
  void report(const agent::AckStatuses& statuses) {
    using Kind = agent::AckStatus::Kind;
    bool pending = false;
    for (const auto& [unit, status] : statuses) pending = pending || status.kind == Kind::Pending;
    statuses_ = statuses;
    const auto on_change = pending ? on_change_ : std::exchange(on_change_, nullptr);
    if (on_change) on_change(statuses, !pending);
  }

 private:
  Steps& steps_;
  agent::AckStatuses statuses_;
  OnChange on_change_;
};

inline const agent::AckStatus kAcked{agent::AckStatus::Kind::Acked, {}};
inline const agent::AckStatus kPendingAck{};
inline agent::AckStatus nacked(const std::string& text = {}) {
  return {agent::AckStatus::Kind::Nacked, text};
}

/// A unit with one address, one listener, one cluster and its endpoints.
inline protocol::Unit unit_at(const std::string& name, const std::string& address,
                              const std::string& revision = "r1") {
  protocol::Unit out;
  out.unit = name;
  out.owner = "kind/default/" + name;
  out.revision = revision;
  out.addresses = {core::Cidr::parse(address + "/16").value()};
  const auto named = [&](const std::string& resource) {
    return R"({"@type":"T","name":")" + resource + R"(","revision":")" + revision + R"("})";
  };
  out.listeners = {{name + "/l", named(name + "/l")}};
  out.clusters = {{name + "/c", named(name + "/c")}};
  out.assignments = {
      {name + "/c", name + ".json", R"({"@type":"E","cluster_name":")" + name + R"(/c"})"}};
  return out;
}

/// A rule for a UDP port that may be filtered, and redirected to another port.
inline core::UdpRule udp_rule(const std::string& address, std::uint16_t port,
                              std::uint16_t redirect = 0, bool filtered = false) {
  core::UdpRule out;
  out.at = {core::IpAddress::parse(address).value(), port};
  out.restricted = filtered;
  out.divert = redirect;
  if (redirect != 0) out.listener = out.cluster = "redirect/" + std::to_string(redirect);
  return out;
}

/// Give the unit a rule and, where that redirects, the listener and cluster it redirects to.
inline protocol::Unit with_rule(protocol::Unit unit, const core::UdpRule& rule) {
  unit.udp_rules.push_back(rule);
  if (rule.divert == 0) return unit;
  unit.listeners.push_back(
      {rule.listener, R"({"address":{"socket_address":{"protocol":"UDP","address":")" +
                          rule.at.address.text() + R"(","port_value":)" +
                          std::to_string(rule.divert) + "}}}"});
  unit.clusters.push_back({rule.cluster, "{}"});
  return unit;
}

}  // namespace kindlb::testing

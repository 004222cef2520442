#pragma once
// One Service through its life: each step plans once, and the test plays what the API, the engine
// and the agent answer.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/recovery.hpp"
#include "support/builders.hpp"
#include "support/mentions.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace kindlb::test {

inline constexpr const char* kInterrupt = "kindlb.dev/fault-interrupt-on-update";

class Life : public World {
 public:
  explicit Life(const core::Service& born = a_service().with_port(80)) : World(a_world(born)) {}

  /// Plans, and the API accepts what is written. A second passes.
  core::Plan step() {
    auto next = plan();
    auto memory = core::remember(view().memory, next);
    if (next.write) {
      service = accepted(service, without(*next.write, drops));
      writes.push_back(*next.write);
      memory = core::remember_answer(std::move(memory), next, service);
    }
    last_reported = memory.last_reported;
    report = memory.report;
    if (!next.addresses.empty()) reserved = next.addresses;
    now += std::chrono::seconds(1);
    return next;
  }
  void proxy_claimed() {
    proxy.present = proxy.live = true;
    proxy.coming = false;
  }
  /// The proxy confirms that plan's configuration; its probes end in `reach`.
  void proxy_confirms(const core::Plan& asked, core::Reach reach = core::Reach::Reached) {
    REQUIRE(asked.apply.has_value());
    proxy.acknowledged = asked.revision;
    proxy.sent = proxy.rejected = {};
    proxy.rejection.clear();
    proxy.addresses = asked.addresses;
    if (!asked.probes.empty()) proxy.reach = reach;
  }
  void proxy_rejects(const core::Plan& asked, const std::string& text) {
    REQUIRE(asked.apply.has_value());
    proxy.rejected = asked.revision;
    proxy.rejection = text;
    proxy.sent = {};
  }
  void proxy_is_lost() { proxy = {}; }
  /// Plan, and play a proxy that accepts everything, until nothing is left to do.
  void settle() {
    for (int rounds = 0; rounds < 10; ++rounds) {
      const auto next = step();
      if (next.empty()) return;
      if (next.remove_proxy) proxy_is_lost();
      if (next.claim) proxy_claimed();
      if (next.apply) proxy_confirms(next);
    }
    FAIL("this never ends: " << shown(step()));
  }
  /// The docker network has IPv6, too.
  void has_ipv6() {
    network[core::IpFamily::V6] = {.subnet = cidr("fc00:1::/64"), .taken = {}, .pools = {}};
    nodes["kind-control-plane"].internal_ips.push_back(ip("fc00:1::2"));
    nodes["kind-worker"].internal_ips.push_back(ip("fc00:1::3"));
  }
  /// One more port in the Service, and its endpoints answer on it.
  void add_port(std::uint16_t port) {
    service.spec.ports.push_back(a_service().with_port(port).build().spec.ports[0]);
    const core::EndpointSlice slice = a_slice().of(service);
    for (auto& known : slices) known.ports = slice.ports;
  }
  void annotate(const std::string& name, const std::string& value) {
    service.annotations[name] = value;
  }
  /// What a restarted kindlb knows: the API, and what the proxies hold and acknowledged.
  void kindlb_restarts() {
    reserved.clear();
    last_reported = {};
    report.reset();
    trouble.reset();
    path = {};
    age = std::chrono::milliseconds(0);
    proxy.coming = false;
    proxy.sent = proxy.rejected = {};
    proxy.rejection.clear();
    proxy.reach = core::Reach::Unknown;
    proxy.reach_detail.clear();
  }

  std::vector<core::StatusApply> writes;  ///< all that were accepted, as they were sent
  Drops drops;                            ///< what the API server does not keep of them

  std::string serving() const { return brief(core::kServingCondition); }
  std::string provisioning() const { return brief(core::kProvisioningCondition); }
  /// "absent" or "True/PortsNotSupported"
  std::string degraded() const { return brief(core::kDegradedCondition); }
  std::string message(const char* type = core::kServingCondition) const {
    const auto* found = core::find_condition(service.status.conditions, type);
    return found == nullptr ? "" : found->message;
  }
  core::Timestamp since(const char* type) const {
    const auto* found = core::find_condition(service.status.conditions, type);
    REQUIRE(found != nullptr);
    return found->last_transition;
  }
  std::string address() const {
    return service.status.ingress.empty() ? "" : service.status.ingress[0].ip;
  }

 private:
  std::string brief(const char* type) const {
    const auto* found = core::find_condition(service.status.conditions, type);
    return found == nullptr ? "absent" : shown(found->status) + "/" + found->reason;
  }
};

/// A Service that is served, with nothing left to do.
inline Life settled(const core::Service& born = a_service().with_port(80)) {
  Life life(born);
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step());
  life.step();
  REQUIRE(life.serving() == "True/Serving");
  REQUIRE(life.step().empty());
  return life;
}

}  // namespace kindlb::test

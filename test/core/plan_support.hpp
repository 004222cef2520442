#pragma once
// One Service through its life: each step plans once, and the test plays what the API, the engine
// and the agent answer.

#include "kindlb/core/plan.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace kindlb::test {

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Life : public World {
 public:
  explicit Life(const core::Service& born = a_service().with_port(80)) : World(a_world(born)) {}

  /// Plans, and the API accepts what is written. A second passes.
  core::Plan step() {
    auto next = plan();
    if (next.write) service = accepted(service, *next.write);
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
  /// What a restarted kindlb knows: the API, and what the proxies hold and acknowledged.
  void kindlb_restarts() {
    reserved.clear();
    trouble.reset();
    direct_blocked = false;
    age = std::chrono::milliseconds(0);
    proxy.coming = false;
    proxy.sent = proxy.rejected = {};
    proxy.rejection.clear();
    proxy.reach = core::Reach::Unknown;
    proxy.reach_detail.clear();
  }

  std::string serving() const { return brief(core::kServingCondition); }
  std::string provisioning() const { return brief(core::kProvisioningCondition); }
  std::string message() const {
    const auto* found = core::find_condition(service.status.conditions, core::kServingCondition);
    return found == nullptr ? "" : found->message;
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
  REQUIRE(life.plan().empty());
  return life;
}

}  // namespace kindlb::test

// Addresses that a Service chooses, and that somebody else has.
#include "integration/clients.hpp"
#include "integration/served.hpp"
#include "kindlb/core/conditions.hpp"
#include "support/traffic/ask.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using namespace kindlb;
using core::IpFamily;
using it::Served;
using it::Stage;
using it::told;

constexpr const char* kAddresses = "kindlb.dev/load-balancer-ips";
constexpr const char* kDegraded =
    "Serving=True/Serving Provisioning=False/Complete Degraded=True/LoadBalancerIPNotSupported";

std::string message_of(const core::Service& service, const char* type) {
  const auto* condition = core::find_condition(service.status.conditions, type);
  return condition == nullptr ? "" : condition->message;
}

std::vector<std::string> addresses_of(const core::Service& service) {
  std::vector<std::string> out;
  for (const auto& ingress : service.status.ingress) out.push_back(ingress.ip);
  return out;
}

/// Addresses far from those that are given out in turn.
core::IpAddress nth_from_below(Stage& stage, IpFamily family, int nth) {
  auto address = *stage.subnet(family).cidr.first().next();
  for (int i = 0; i < nth; ++i) address = *address.next();
  return address;
}

}  // namespace

TEST_CASE("a Service gets the addresses it chooses, and others when it changes its mind") {
  auto& stage = it::shared_stage();
  const auto v4 = nth_from_below(stage, IpFamily::V4, 90).text();
  const auto v6 = nth_from_below(stage, IpFamily::V6, 90).text();
  Served served(stage);
  served.add("one");
  served.add("six", IpFamily::V6);
  auto service =
      served.create(it::mixed_spec(it::kDualStack), {{kAddresses, fmt::format("{}, {}", v4, v6)}});
  CHECK(addresses_of(service) == std::vector{v4, v6});
  CHECK(told(service) == "Serving=True/Serving Provisioning=False/Complete");
  CHECK(testing::ask_tcp(served.target(), "x") == "one x");
  CHECK(testing::ask_tcp(served.target(80, IpFamily::V6), "x") == "six x");

  const auto other = nth_from_below(stage, IpFamily::V4, 91).text();
  service = served.patch(
      fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{},{}"}}}}}})", kAddresses, other, v6));
  CHECK(addresses_of(service) == std::vector{other, v6});
  CHECK(testing::ask_tcp(served.target(), "x") == "one x");

  // Without a wish nothing moves.
  service =
      served.patch(fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", kAddresses));
  CHECK(addresses_of(service) == std::vector{other, v6});
}

TEST_CASE("an address that somebody else answers for is not taken") {
  auto& stage = it::shared_stage();
  // The engine knows nothing of it: it is only there to be asked.
  const it::Clients stranger(stage, 1);
  Served served(stage);
  served.add("one");
  const auto service = served.create(it::mixed_spec(), {{kAddresses, stranger.v4(0).text()}});
  CHECK(told(service) == kDegraded);
  CHECK(addresses_of(service) != std::vector{stranger.v4(0).text()});
  CHECK(message_of(service, core::kDegradedCondition).find("is already in use") !=
        std::string::npos);
  CHECK(testing::ask_tcp(served.target(), "x") == "one x");
}

TEST_CASE("spec.loadBalancerIP outside the network is degraded, or refused when it is required") {
  auto& stage = it::shared_stage();
  Served served(stage);
  served.add("one");
  const auto service = served.create(it::mixed_spec(R"(,"loadBalancerIP":"192.0.2.1")"));
  CHECK(told(service) == kDegraded);
  CHECK(message_of(service, core::kDegradedCondition).find("spec.loadBalancerIP 192.0.2.1") == 0);

  const auto seen = stage.diary().count(served.name());
  stage.patch(served.name(), R"({"metadata":{"annotations":
      {"kindlb.dev/required-load-balancer-features":"LoadBalancerIP"}}})");
  const auto refused = stage.await(
      served.name(),
      [](const auto& s) {
        return told(s) == "Serving=False/Unsupported Provisioning=False/Complete";
      },
      seen);
  CHECK(refused.status.ingress.empty());
}

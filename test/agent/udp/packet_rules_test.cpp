#include "udp/packet_rules.hpp"

#include "agent/fakes.hpp"
#include "wanted_units.hpp"

#include <doctest/doctest.h>

#include <optional>

using namespace kindlb;
using namespace kindlb::agent;
using testing::udp_rule;
using testing::unit_at;

namespace {

constexpr const char* kAt = "172.18.0.9";

protocol::Unit ruled(const std::vector<core::UdpRule>& rules) {
  auto out = unit_at("dns", kAt);
  out.udp_rules = rules;
  return out;
}

}  // namespace

TEST_CASE("which rules are in force at which stage") {
  using Rules = std::vector<core::UdpRule>;
  using Stage = Request::Stage;
  const auto plain = udp_rule(kAt, 53);
  const auto filtered = udp_rule(kAt, 53, 0, true);
  const auto redirected = udp_rule(kAt, 53, 1053);
  const auto both = udp_rule(kAt, 53, 1053, true);
  const auto elsewhere = udp_rule(kAt, 53, 1054);
  struct Case {
    const char* name;
    std::optional<Rules> committed;
    std::optional<Rules> requested;
    Stage stage;
    Rules draining;
    Rules quarantined;
    const char* rules;
  };
  const Case cases[] = {
      {"nothing", {}, {}, Stage::Queued, {}, {}, "none"},
      {"a rule that does nothing", Rules{plain}, {}, Stage::Queued, {}, {}, "none"},
      {"committed", Rules{both}, {}, Stage::Queued, {}, {}, "53->1053 filtered"},
      {"ranges hold before the listener opens",
       {},
       Rules{both},
       Stage::Announcing,
       {},
       {},
       "53 filtered"},
      {"the redirect port is blocked before its listener opens",
       {},
       Rules{both},
       Stage::Applying,
       {},
       {},
       "53 filtered, idle 53->1053"},
      {"a redirection in force stays while ranges change",
       Rules{redirected},
       Rules{both},
       Stage::Applying,
       {},
       {},
       "53->1053 filtered"},
      {"a redirection that ends stays in force until the commit, while its listener drains",
       Rules{redirected},
       Rules{plain},
       Stage::Applying,
       {redirected},
       {},
       "53->1053"},
      {"one whose port is needed ends at once",
       Rules{redirected},
       Rules{plain},
       Stage::Applying,
       {},
       {},
       "idle 53->1053"},
      {"but not while the request only waits",
       Rules{redirected},
       Rules{plain},
       Stage::Queued,
       {},
       {},
       "53->1053"},
      {"another redirect port",
       Rules{redirected},
       Rules{elsewhere},
       Stage::Applying,
       {redirected},
       {},
       "53->1053, idle 53->1054"},
      {"a draining listener is blocked from outside",
       Rules{plain},
       {},
       Stage::Queued,
       {redirected},
       {},
       "idle 53->1053"},
      {"quarantine filters the port", {}, {}, Stage::Queued, {}, {filtered}, "53 filtered"},
      {"quarantine blocks the redirect port",
       {},
       {},
       Stage::Queued,
       {},
       {both},
       "53 filtered, idle 53->1053"},
      {"a live rule goes before quarantine",
       Rules{plain},
       {},
       Stage::Queued,
       {},
       {filtered},
       "none"},
      {"an entry that is active is not idle",
       Rules{redirected},
       {},
       Stage::Queued,
       {},
       {redirected},
       "53->1053"},
      {"each redirection is idle once",
       {},
       {},
       Stage::Queued,
       {redirected},
       {redirected},
       "idle 53->1053"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CommittedUnit committed{.unit = ruled(c.committed.value_or(Rules()))};
    Request request;
    request.unit = ruled(c.requested.value_or(Rules()));
    request.stage = c.stage;
    WantedUnits wanted;
    if (c.committed) wanted.committed = {&committed};
    if (c.requested) wanted.requested = {&request};
    CHECK(testing::FakeFilter::text_of(packet_rules(wanted, c.draining, c.quarantined)) == c.rules);
  }
}

TEST_CASE("a redirection ends when the next unit does not continue it") {
  const auto former = ruled({udp_rule(kAt, 53, 1053), udp_rule(kAt, 54)});
  CHECK(redirects_removed(former, former).empty());
  CHECK(redirects_removed(former, ruled({udp_rule(kAt, 53, 1053, true)})).empty());
  CHECK(redirects_removed(former, ruled({udp_rule(kAt, 53)})) ==
        std::vector{udp_rule(kAt, 53, 1053)});
  CHECK(redirects_removed(former, ruled({udp_rule(kAt, 53, 1054)})).size() == 1);
}

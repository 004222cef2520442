#include "fleet/replacements.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using controller::ProxyFaults;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const ProxyFaults kPaused{.paused = true};
const ProxyFaults kSilence{.silence = "its agent does not answer"};

struct ReplacementRig : PartsRig {
  ReplacementRig() {
    start();
    id = add_proxy();
    assign(id, "u1");
  }
  ~ReplacementRig() { stop(); }
  void fault(const ProxyFaults& faults) {
    act([&] {
      roster.set_faults(id, faults);
      replacements.on_faults(id);
    });
  }
  /// Another proxy takes the place of the one that was given up.
  void take_over() {
    act([&] {
      roster.drop(id);
      replacements.forget(id);
    });
    id = add_proxy();
    assign(id, "u1");
  }
  /// Return how long a paused proxy is kept.
  milliseconds patience() {
    fault(kPaused);
    const auto begin = clock.now();
    while (calls.empty()) pass(milliseconds(100));
    calls.clear();
    take_over();
    return std::chrono::duration_cast<milliseconds>(clock.now() - begin);
  }

  std::string id;
  controller::Replacements replacements{loop(), roster, note("replace")};
};

}  // namespace

TEST_CASE_FIXTURE(ReplacementRig, "a fault gets two seconds to pass") {
  fault(kPaused);
  pass(milliseconds(1'900));
  CHECK(calls.empty());
  SUBCASE("it stays") {
    pass(milliseconds(100));
    CHECK(take_calls() == Calls{"replace " + id});
    pass(seconds(60));
    CHECK(calls.empty());
  }
  SUBCASE("it passes, and the next one begins anew") {
    fault({});
    pass(seconds(1));
    fault(kPaused);
    pass(milliseconds(1'900));
    CHECK(calls.empty());
  }
  SUBCASE("another one joins it") {
    fault({.paused = true, .detached = true});
    pass(milliseconds(100));
    CHECK(take_calls() == Calls{"replace " + id});
  }
  SUBCASE("the proxy is gone") {
    take_over();
    pass(seconds(60));
    CHECK(calls.empty());
  }
}

TEST_CASE_FIXTURE(ReplacementRig, "silence has been waited for already") {
  SUBCASE("alone") {
    fault(kSilence);
  }
  SUBCASE("after another fault") {
    fault({.network_problem = "no route"});
    pass(seconds(1));
    fault({.silence = "its agent does not answer", .network_problem = "no route"});
  }
  CHECK(take_calls() == Calls{"replace " + id});
  pass(seconds(60));
  CHECK(calls.empty());
}

TEST_CASE_FIXTURE(ReplacementRig,
                  "proxies that fail again and again are replaced ever more slowly") {
  for (int i = 0; i < 3; ++i) CHECK(patience() <= seconds(3));
  const auto fourth = patience();
  CHECK(fourth >= seconds(4));
  CHECK(patience() > fourth);
  for (int i = 0; i < 10; ++i) CHECK(patience() <= seconds(120));
  SUBCASE("silent ones as well") {
    fault(kSilence);
    pass(seconds(10));
    CHECK(calls.empty());
  }
  SUBCASE("until one has lasted") {
    pass(seconds(61));
    CHECK(patience() <= seconds(3));
  }
  SUBCASE("which does not concern other Services") {
    const auto other = add_proxy();
    assign(other, "u2");
    act([&] {
      roster.set_faults(other, kPaused);
      replacements.on_faults(other);
    });
    pass(seconds(2));
    CHECK(take_calls() == Calls{"replace " + other});
  }
}

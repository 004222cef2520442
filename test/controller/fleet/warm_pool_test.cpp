#include "fleet/warm_pool.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Two warm proxies per network, refilled 250 ms after a claim.
struct PoolRig : PartsRig {
  PoolRig() { start(); }
  ~PoolRig() { stop(); }
  void fill(const std::set<std::string>& networks = {"kind"}) {
    act([&] {
      pool.keep_on(networks);
      pool.allow();
      pool.refill_soon();
    });
  }
  std::vector<std::string> ids_on(const std::string& network) const {
    std::vector<std::string> out;
    for (const auto& [id, proxy] : roster.proxies())
      if (proxy.container.network == network) out.push_back(id);
    return out;
  }
  std::size_t creates() const { return journal.count("create"); }

  controller::WarmPool pool{loop(),
                            async,
                            roster,
                            {.size = 2, .refill_delay = milliseconds(250)},
                            {.created =
                                 [this](controller::HostedProxy proxy) {
                                   calls.push_back("created " + proxy.id);
                                   roster.add(std::move(proxy));
                                 },
                             .unneeded =
                                 [this](const std::string& id) {
                                   calls.push_back("unneeded " + id);
                                   roster.set_removing(id);
                                 }}};
};

}  // namespace

TEST_CASE_FIXTURE(PoolRig, "nothing is created before it is known what exists") {
  act([&] {
    pool.keep_on({"kind"});
    pool.refill_soon();
  });
  CHECK(creates() == 0);
  add_proxy();
  fill();
  CHECK(creates() == 1);  // the one that was there counts
}

TEST_CASE_FIXTURE(PoolRig, "a claimed proxy is replaced after a while") {
  fill();
  CHECK(creates() == 2);
  CHECK_FALSE(pool.is_creating());
  assign("p1", "u1");
  act([&] { pool.refill_after_claim(); });
  pass(milliseconds(249));
  CHECK(creates() == 2);
  pass(milliseconds(1));
  CHECK(creates() == 3);
}

TEST_CASE_FIXTURE(PoolRig, "of several refills the earliest is made") {
  fill();
  assign("p1", "u1");
  act([&] {
    pool.refill_soon(seconds(30));
    pool.refill_soon(seconds(10));
    pool.refill_soon(seconds(20));
  });
  pass(seconds(10));
  CHECK(creates() == 3);
  assign("p2", "u2");
  pass(seconds(60));
  CHECK(creates() == 3);
}

TEST_CASE_FIXTURE(PoolRig, "proxies being created count; those being removed do not") {
  act([&] {
    pool.keep_on({"kind"});
    pool.allow();
    pool.refill_soon();
  });
  host.on_creating([&] {
    // In the middle of the creation: a second refill finds nothing missing.
    act([&] { pool.refill_soon(); });
    CHECK(pool.is_creating());
  });
  assign("p1", "u1");
  act([&] { pool.refill_soon(); });
  pass(seconds(1));
  CHECK(creates() == 3);
  act([&] {
    roster.set_removing("p2");
    pool.refill_soon();
  });
  CHECK(creates() == 4);
}

TEST_CASE_FIXTURE(PoolRig, "each network has its own pool; one that goes away is emptied") {
  fill({"kind", "other"});
  const auto kind = ids_on("kind");
  const auto other = ids_on("other");
  REQUIRE(kind.size() == 2);
  REQUIRE(other.size() == 2);
  assign(kind[0], "u1");
  take_calls();
  act([&] { pool.keep_on({"other"}); });
  CHECK(take_calls() == Calls{"unneeded " + kind[1]});  // the other one serves
  act([&] { pool.keep_on({"other"}); });                // the same: nothing
  CHECK(take_calls().empty());
  act([&] { pool.keep_on({}); });
  CHECK(take_calls() == Calls{"unneeded " + other[0], "unneeded " + other[1]});
}

TEST_CASE_FIXTURE(PoolRig, "a proxy created for a network that is no longer in use is unneeded") {
  host.on_creating([&] { act([&] { pool.keep_on({}); }); });
  fill();
  pass(seconds(1));
  for (const auto& [id, proxy] : roster.proxies()) CHECK(proxy.removing);
}

TEST_CASE_FIXTURE(PoolRig, "failures are retried ever more slowly, until a proxy has started") {
  host.fail_next("create", kImpossible, 4);
  fill();
  CHECK(creates() == 2);
  pass(milliseconds(750));
  CHECK(creates() == 4);
  pass(milliseconds(2'999));
  CHECK(creates() == 4);
  pass(milliseconds(1));
  CHECK(creates() == 6);
  act([&] { pool.on_started(); });
  act([&] {
    roster.drop("p1");
    pool.refill_after_loss();
  });
  pass(milliseconds(250));
  CHECK(creates() == 7);
}

TEST_CASE_FIXTURE(PoolRig, "proxies that die are replaced ever more slowly") {
  fill();
  const auto lose = [&](const std::string& id) {
    act([&] {
      pool.on_died();
      roster.drop(id);
      pool.refill_after_loss();
    });
  };
  lose("p1");
  pass(milliseconds(750));
  CHECK(creates() == 3);
  lose("p2");
  pass(milliseconds(1'499));
  CHECK(creates() == 3);
  pass(milliseconds(1));
  CHECK(creates() == 4);
}

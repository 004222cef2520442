#include "fleet/container_lifecycle.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct LifecycleRig : PartsRig {
  LifecycleRig() {
    start();
    id = add_proxy();
  }
  ~LifecycleRig() { stop(); }
  void stop_container() {
    host.die(id);
    act([&] { roster.container_stopped(id); });
  }
  void drop() {
    roster.drop(id);
    containers.forget(id);
  }

  std::string id;
  controller::ContainerLifecycle containers{loop(),
                                            async,
                                            roster,
                                            {.started = note("started"),
                                             .removed = note("removed"),
                                             .removal_failed = note("removal failed"),
                                             .start_again = note("start again")}};
};

}  // namespace

TEST_CASE_FIXTURE(LifecycleRig, "a stopped container is started once, however often it is asked") {
  stop_container();
  act([&] {
    containers.start(id);
    containers.start(id);
  });
  CHECK(journal.count("start") == 0);  // the engine may be about to remove it
  pass(milliseconds(150));
  CHECK(journal.count("start") == 1);
  CHECK(take_calls() == Calls{"started " + id});
}

TEST_CASE_FIXTURE(LifecycleRig, "there is nothing to start") {
  SUBCASE("it runs") {}
  SUBCASE("it is being removed") {
    stop_container();
    act([&] { roster.set_removing(id); });
  }
  act([&] { containers.start(id); });
  pass(seconds(60));
  CHECK(journal.count("start") == 0);
}

TEST_CASE_FIXTURE(LifecycleRig, "a container that is gone before its start is not started") {
  stop_container();
  act([&] {
    containers.start(id);
    drop();
  });
  pass(seconds(60));
  CHECK(journal.count("start") == 0);
}

TEST_CASE_FIXTURE(LifecycleRig, "a start that fails for now may be asked for again") {
  stop_container();
  host.fail_next("start", kAway);
  act([&] { containers.start(id); });
  pass(milliseconds(150));
  CHECK(take_calls().empty());
  pass(seconds(1));
  CHECK(take_calls() == Calls{"start again " + id});
  act([&] { containers.start(id); });
  pass(milliseconds(150));
  CHECK(take_calls() == Calls{"started " + id});
}

TEST_CASE_FIXTURE(LifecycleRig, "a container that cannot be started is removed") {
  stop_container();
  host.fail_next("start", kImpossible);
  act([&] { containers.start(id); });
  pass(milliseconds(150));
  CHECK(take_calls() == Calls{"removed " + id});
  CHECK(host.size() == 0);
}

TEST_CASE_FIXTURE(LifecycleRig, "a removal is retried until the engine confirms it") {
  host.fail_next("remove", kAway, 2);
  act([&] {
    containers.remove(id);
    containers.remove(id);
  });
  CHECK(roster.find(id)->removing);
  CHECK(journal.count("remove") == 1);
  CHECK(roster.find(id)->trouble == "its container cannot be removed: refused");
  pass(milliseconds(375));
  CHECK(journal.count("remove") == 2);
  CHECK(roster.find(id)->removing);
  CHECK(take_calls() == Calls{"removal failed " + id, "removal failed " + id});
  pass(milliseconds(750));
  CHECK(journal.count("remove") == 3);
  CHECK(take_calls() == Calls{"removed " + id});
}

TEST_CASE_FIXTURE(LifecycleRig, "a removal that another program was faster with is not reported") {
  act([&] {
    containers.remove(id);
    drop();
  });
  pass(seconds(60));
  CHECK(take_calls().empty());
}

TEST_CASE_FIXTURE(LifecycleRig, "what is left of a container is removed without being reported") {
  host.fail_next("remove", kAway);
  act([&] {
    drop();
    containers.remove_rest(id);
  });
  pass(seconds(60));
  CHECK(journal.count("remove") == 1);
  CHECK(take_calls().empty());
}

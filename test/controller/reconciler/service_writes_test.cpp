#include "reconciler/service_writes.hpp"

#include "controller/harness.hpp"
#include "kindlb/core/eligibility.hpp"
#include "support/printing.hpp"

using namespace kindlb;
using namespace kindlb::test;
using core::ErrorKind;
using Calls = std::vector<std::string>;

namespace {

/// Writes for one Service in a cluster that is not watched.
struct Writer {
  FakeWorld world;
  LoopThread thread{world.clock};
  controller::Clusters clusters;
  Calls told;
  controller::ServiceWrites writes{
      thread.loop(),
      thread.api_work(),
      clusters,
      {.written = [this](const core::Service&, const core::Plan&) { told.push_back("written"); },
       .write_failed = [this](const core::ServiceKey&,
                              const std::string&) { told.push_back("write failed"); },
       .released = [this](const core::ServiceKey&, const std::string&,
                          bool ok) { told.push_back(ok ? "released" : "release failed"); }}};
  core::Service service = world.add_service();

  Writer() {
    clusters.add("kind", "kind", world.clusters.at("kind").api);
    clusters.find("kind")->store.put_service(service);
    thread.start();
  }
  ~Writer() { thread.stop(); }

  std::shared_ptr<kube::Api> api() { return world.clusters.at("kind").api; }
  /// The status of a Service that was just seen.
  core::Plan plan() {
    core::Plan out;
    out.write = core::StatusApply{.key = service.key, .uid = service.uid};
    out.write->observed = core::mark_of(service, "hash");
    out.events = {{core::EventType::Normal, "Provisioning", "begun"}};
    return out;
  }
  void write() {
    thread.on_loop([this] { writes.write(api(), service, plan()); });
  }
  void release(core::Teardown teardown = core::Teardown::TakeBack) {
    thread.on_loop([=, this] { writes.release(api(), service, teardown); });
  }
  bool awaits_release() {
    return thread.on_loop([this] { return writes.awaits_release(service); });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Writer, "what was written is in the store before anyone hears of it") {
  write();
  thread.settle();
  CHECK(told == Calls{"written"});
  CHECK(core::was_ours(*clusters.find_service(service.key)));
  CHECK(world.kube().events() == Calls{"default/web Provisioning"});
}

TEST_CASE_FIXTURE(Writer, "one write at a time; another asked for meanwhile is dropped") {
  thread.on_loop([this] {
    writes.write(api(), service, plan());
    writes.write(api(), service, plan());
    writes.release(api(), service, core::Teardown::TakeBack);
  });
  thread.settle();
  CHECK(told == Calls{"written"});
  CHECK(world.writes() == 1);
  write();  // it has ended
  thread.settle();
  CHECK(world.journal.count("apply") == 2);
}

TEST_CASE_FIXTURE(Writer, "Events of a change that is not shown need no write") {
  const auto tell = [this] {
    return thread.on_loop([this] { return writes.tell(api(), service, plan().events); });
  };
  CHECK(tell());
  thread.settle();
  CHECK(world.kube().events() == Calls{"default/web Provisioning"});
  CHECK(world.writes() == 0);
  CHECK(told.empty());
  thread.on_loop([this] {
    writes.write(api(), service, plan());
    CHECK_FALSE(writes.tell(api(), service, plan().events));  // the write's end plans again
  });
  thread.settle();
  CHECK(world.kube().events().size() == 2);
}

TEST_CASE_FIXTURE(Writer, "a write that fails is told, and not repeated here") {
  SUBCASE("refused") {
    world.kube().fail_next("apply", {ErrorKind::Denied, "apply", "forbidden"});
    write();
    thread.settle();
    CHECK(told == Calls{"write failed"});
    CHECK(world.kube().events().empty());
  }
  SUBCASE("the Service is gone: the watch will say so") {
    world.kube().remove("default/web");
    write();
    thread.settle();
    CHECK(told.empty());
  }
  CHECK(world.journal.count("apply") == 1);
}

TEST_CASE_FIXTURE(Writer, "a version that was released is not planned again") {
  CHECK_FALSE(awaits_release());
  thread.on_loop([this] {
    writes.release(api(), service, core::Teardown::TakeBack);
    CHECK(writes.awaits_release(service));
    CHECK_FALSE(writes.was_released(service.uid));
    writes.write(api(), service, plan());  // would bring back what the release removes
  });
  thread.settle();
  CHECK(told == Calls{"released"});
  CHECK(world.journal.count("apply") == 0);
  CHECK(world.kube().events() == Calls{"default/web Deleted"});
  CHECK(awaits_release());
  CHECK(thread.on_loop([this] { return writes.was_released(service.uid); }));
  service.resource_version = "999";  // the watch has shown the effect
  CHECK_FALSE(awaits_release());
  CHECK_FALSE(thread.on_loop([this] { return writes.was_released(service.uid); }));
}

TEST_CASE_FIXTURE(Writer, "a release that fails may be tried again") {
  world.kube().fail_next("release", {ErrorKind::Conflict, "release", "changed"});
  release();
  thread.settle();
  CHECK(told == Calls{"release failed"});
  CHECK_FALSE(awaits_release());
  release();
  thread.settle();
  CHECK(told == Calls{"release failed", "released"});
}

TEST_CASE_FIXTURE(Writer, "of a forgotten Service nothing is told, nor stored") {
  thread.on_loop([this] {
    writes.write(api(), service, plan());
    writes.forget(service.uid);
  });
  thread.settle();
  CHECK(told.empty());
  CHECK_FALSE(core::was_ours(*clusters.find_service(service.key)));
}

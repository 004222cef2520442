// Our own client against each failure the control endpoint can make: it comes through all of them.

#include "apiserver/wire_rig.hpp"
#include "kindlb/kube/api.hpp"
#include "kube/recording_observer.hpp"

using namespace kindlb;
using namespace kindlb::test;

namespace {
struct Rig {
  void fault(const std::string& json) const {
    REQUIRE(test::send(*client, "POST", "/sandbox/faults", json).status == 200);
  }
  /// How many faults wait for their request.
  std::size_t left() const {
    return Json::parse(test::send(*client, "GET", "/sandbox/faults").body)["faults"].size();
  }

  std::unique_ptr<apiserver::Server> server = start();
  std::shared_ptr<http::Client> client = client_of(*server);
};

bool until(const std::function<bool()>& holds) {
  const auto deadline = Clock::now() + 20s;
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}
}  // namespace

TEST_CASE("a reflector comes through every failure of its list and its watch") {
  struct Case {
    const char* name;
    const char* fault;
  };
  const Case cases[] = {
      {"watches dropped", R"({"kind":"drop-watches"})"},
      {"watch expired", R"({"kind":"expired","verb":"watch","resource":"services"})"},
      {"watch refused for now", R"({"kind":"too-many","verb":"watch","resource":"services"})"},
      {"watch broken", R"({"kind":"error","verb":"watch","resource":"services","times":2})"},
      {"slow watch",
       R"({"kind":"slow","verb":"watch","resource":"services","delayMilliseconds":300})"},
      {"list refused for now", R"({"kind":"too-many","verb":"list","resource":"services"})"},
      {"list broken", R"({"kind":"error","verb":"list","resource":"services"})"},
      {"list expired", R"({"kind":"expired","verb":"list","resource":"services"})"},
      {"slow list",
       R"({"kind":"slow","verb":"list","resource":"services","delayMilliseconds":300})"}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Rig rig;
    RecordingObserver recorder;
    const auto reflectors = kube::start_reflectors(rig.client, "kind", recorder);
    REQUIRE(recorder.wait_for("state services ok"));
    rig.fault(c.fault);
    // What lists is only asked again after an expired watch.
    if (std::string(c.fault).find("\"list\"") != std::string::npos)
      rig.fault(R"({"kind":"expired","verb":"watch","resource":"services"})");
    rig.fault(R"({"kind":"drop-watches"})");
    make(*rig.client, "after");
    // As a change or in a new list: either is fine.
    CHECK(until([&] { return recorder.journal().find("default/after") != std::string::npos; }));
    CHECK(until([&] { return rig.left() == 0; }));
    make(*rig.client, "later");
    CHECK(until([&] { return recorder.journal().find("default/later") != std::string::npos; }));
  }
}

TEST_CASE("writes that fail say so, and succeed when they are tried again") {
  const Rig rig;
  make(*rig.client, "web");
  const auto api = kube::make_api(rig.client, "kind");
  RecordingObserver recorder;
  const auto reflectors = kube::start_reflectors(rig.client, "kind", recorder);
  REQUIRE(recorder.wait_for("state services ok"));
  send(*rig.client, "PATCH", std::string(kServices) + "/web",
       R"({"metadata":{"labels":{"a":"b"}}})", "application/merge-patch+json");
  REQUIRE(recorder.wait_for("service default/web"));
  core::StatusApply apply;
  apply.key = recorder.last_service().key;
  apply.uid = recorder.last_service().uid;

  struct Case {
    const char* fault;
    core::ErrorKind kind;
  };
  const Case cases[] = {
      {R"({"kind":"too-many","verb":"patch","resource":"services"})", core::ErrorKind::Unavailable},
      {R"({"kind":"error","verb":"patch","resource":"services"})", core::ErrorKind::Unavailable},
  };
  for (const auto& c : cases) {
    CAPTURE(c.fault);
    rig.fault(c.fault);
    const auto failed = api->apply_status(apply);
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().kind == c.kind);
    CHECK(api->apply_status(apply).ok());
  }
  rig.fault(R"({"kind":"slow","verb":"patch","resource":"services","delayMilliseconds":200})");
  const auto begin = Clock::now();
  CHECK(api->apply_status(apply).ok());
  CHECK(Clock::now() - begin >= 200ms);
}

TEST_CASE("a release is repeated through conflicts") {
  const Rig rig;
  REQUIRE(send(*rig.client, "POST", kServices,
               R"({"metadata":{"name":"web","finalizers":["service.kubernetes.io/load-balancer-)"
               R"(cleanup"]},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}})")
              .status == 201);
  const auto made = Json::parse(send(*rig.client, "GET", std::string(kServices) + "/web").body);
  rig.fault(R"({"kind":"conflict","verb":"patch","resource":"services","times":2})");
  const auto api = kube::make_api(rig.client, "kind");
  const auto released = api->release(
      {.key = {"kind", "default", "web"}, .uid = made["metadata"]["uid"].get<std::string>()});
  CHECK_MESSAGE(released.ok(), (released.ok() ? "" : released.error().text()));
  CHECK(rig.left() == 0);
}

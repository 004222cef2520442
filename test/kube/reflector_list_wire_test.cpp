// Lists in pages, from a scripted API server.

#include "kube/recording_observer.hpp"
#include "kube/scripted_api.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::test;

TEST_CASE("the observer receives all pages of a list at once") {
  RecordingObserver recorder;
  ScriptedApi api({answer(200, page("7", item("a"), "more+")), answer(200, page("7", item("b")))},
                  {open_watch()});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  CHECK(recorder.wait_for("services: n/a n/b"));
  CHECK(recorder.wait_for("nodes:"));
  CHECK(recorder.wait_for("slices:"));
  CHECK(recorder.wait_for("state services ok"));
  REQUIRE(api.targets().size() >= 2);
  CHECK(api.targets()[0] == "/api/v1/services?limit=500");
  CHECK(api.targets()[1] == "/api/v1/services?limit=500&continue=more%2B");
}

TEST_CASE("a continue token that expired starts the list again") {
  RecordingObserver recorder;
  ScriptedApi api({answer(200, page("7", item("a"), "old")), answer(410, kExpired),
                   answer(200, page("8", item("b")))},
                  {open_watch()});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  CHECK(recorder.wait_for("services: n/b"));
  CHECK(recorder.count("services: n/a") == 0);
}

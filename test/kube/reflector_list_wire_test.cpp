// Lists in pages, from a scripted API server.

#include "kube/recording_observer.hpp"
#include "kube/scripted_api.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

using namespace kindlb;
using namespace kindlb::test;

namespace {

/// An EndpointSlice with addresses 10.0.<number>.0 and so on.
std::string slice_item(int number, int endpoints) {
  std::string list;
  for (int i = 0; i < endpoints; ++i)
    list += std::string(i == 0 ? "" : ",") + R"({"addresses":["10.0.)" + std::to_string(number) +
            "." + std::to_string(i) + R"("],"conditions":{"ready":true},"nodeName":"node"})";
  return R"({"metadata":{"name":"s-)" + std::to_string(number) +
         R"(","namespace":"n","labels":{"kubernetes.io/service-name":"s"}},)" +
         R"("addressType":"IPv4","ports":[{"name":"","port":80,"protocol":"TCP"}],"endpoints":[)" +
         list + "]}";
}

std::string comma_separated(int count, const std::function<std::string(int)>& one) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + one(i);
  return out;
}

}  // namespace

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

TEST_CASE("a list that never ends is given up and tried again") {
  RecordingObserver recorder;
  std::vector<Script> lists(1'001, answer(200, page("7", item("a"), "more")));
  lists.push_back(answer(200, page("8", item("b"))));
  ScriptedApi api(lists, {open_watch()});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  REQUIRE(recorder.wait_for("services: n/b"));
  CHECK(recorder.count("state services TooLarge") == 1);
  CHECK(recorder.last_error() == "list services: the list has more than 1000 pages (TooLarge)");
}

TEST_CASE("a large cluster is listed: 5,000 Services, 5,000 endpoints") {
  std::vector<Script> lists;
  std::string all = "services:";
  for (int first = 10'000; first < 15'000; first += 500) {
    const auto name = [first](int i) { return "s" + std::to_string(first + i); };
    for (int i = 0; i < 500; ++i) all += " n/" + name(i);
    const auto items = comma_separated(500, [&](int i) { return item(name(i)); });
    lists.push_back(answer(200, page("7", items, first == 14'500 ? "" : "more")));
  }
  const auto slices = comma_separated(50, [](int i) { return slice_item(i, 100); });
  RecordingObserver recorder;
  ScriptedApi api(lists, {open_watch()}, slices);
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  CHECK(recorder.wait_for(all));
  CHECK(recorder.wait_for("endpoints: 5000"));
  CHECK(recorder.last_error().empty());
}

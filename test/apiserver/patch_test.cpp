#include "merge/patch.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace kindlb::apiserver;

namespace {
Json service() {
  return Json::parse(R"({"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x/y"]},
    "spec":{"type":"LoadBalancer","selector":{"app":"echo"},"clusterIPs":["10.0.0.1"],
            "ports":[{"port":80,"protocol":"TCP","name":"http"},
                     {"port":443,"protocol":"TCP","name":"https"}]}})");
}
Json strategic(const char* patch) {
  const auto out =
      apply_strategic_merge_patch(service(), Json::parse(patch), Schema::get().root("Service"));
  REQUIRE(static_cast<bool>(out));
  return *out;
}
}  // namespace

TEST_CASE("a JSON patch applies in order; a failed test or a bad path refuses it") {
  const auto done = apply_json_patch(
      service(), Json::parse(R"([{"op":"test","path":"/spec/type","value":"LoadBalancer"},
        {"op":"replace","path":"/spec/ports/0/port","value":81},
        {"op":"remove","path":"/metadata/labels/a"}])"));
  REQUIRE(static_cast<bool>(done));
  CHECK((*done)["spec"]["ports"][0]["port"] == 81);
  CHECK((*done)["metadata"]["labels"] == Json{{"b", "2"}});
  for (const char* bad :
       {R"([{"op":"test","path":"/spec/type","value":"NodePort"}])",
        R"([{"op":"remove","path":"/nowhere/x"}])", R"([{"op":"dance","path":"/spec"}])",
        R"([{"op":"replace","path":"/spec/ports/9/port","value":1}])", R"([{"path":"/spec"}])",
        R"([1])", R"([{"op":"add","path":"/spec/ports/x","value":1}])"}) {
    CAPTURE(bad);
    const auto refused = apply_json_patch(service(), Json::parse(bad));
    REQUIRE_FALSE(static_cast<bool>(refused));
    CHECK(refused.error().code == 422);
  }
  CHECK(apply_json_patch(service(), Json::object()).error().code == 400);
}

TEST_CASE("a merge patch replaces lists and removes with null") {
  const auto done =
      apply_merge_patch(service(), Json::parse(R"({"metadata":{"labels":{"a":null,"c":"3"}},
                                 "spec":{"ports":[{"port":1}]}})"));
  REQUIRE(static_cast<bool>(done));
  CHECK((*done)["metadata"]["labels"] == Json{{"b", "2"}, {"c", "3"}});
  CHECK((*done)["spec"]["ports"] == Json::parse(R"([{"port":1}])"));
  CHECK_FALSE(static_cast<bool>(apply_merge_patch(service(), Json::array())));
}

TEST_CASE("a strategic merge patch merges ports by their number") {
  const auto ports = strategic(
      R"({"spec":{"ports":[{"port":80,"nodePort":30080},{"port":53,"name":"dns"}]}})")["spec"]
                                                                                      ["ports"];
  REQUIRE(ports.size() == 3);
  CHECK(ports[0] == Json::parse(R"({"port":80,"protocol":"TCP","name":"http","nodePort":30080})"));
  CHECK(ports[2]["name"] == "dns");
}

TEST_CASE("directives of a strategic merge patch") {
  SUBCASE("delete an element") {
    const auto out = strategic(R"({"spec":{"ports":[{"$patch":"delete","port":80}]}})");
    REQUIRE(out["spec"]["ports"].size() == 1);
    CHECK(out["spec"]["ports"][0]["port"] == 443);
  }
  SUBCASE("replace a list") {
    const auto out = strategic(R"({"spec":{"ports":[{"port":1},{"$patch":"replace"}]}})");
    CHECK(out["spec"]["ports"] == Json::parse(R"([{"port":1}])"));
  }
  SUBCASE("replace a map") {
    const auto out = strategic(R"({"spec":{"selector":{"$patch":"replace","x":"y"}}})");
    CHECK(out["spec"]["selector"] == Json{{"x", "y"}});
  }
  SUBCASE("order") {
    const auto out = strategic(R"({"spec":{"$setElementOrder/ports":[{"port":443},{"port":80}]}})");
    CHECK(out["spec"]["ports"][0]["port"] == 443);
    CHECK_FALSE(out["spec"].contains("$setElementOrder/ports"));
  }
  SUBCASE("plain lists that merge") {
    const auto more = strategic(R"({"metadata":{"finalizers":["a/b"]}})");
    CHECK(more["metadata"]["finalizers"] == Json::array({"x/y", "a/b"}));
    const auto less = strategic(R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["x/y"]}})");
    CHECK(less["metadata"]["finalizers"] == Json::array());
  }
  SUBCASE("keys to keep") {
    const auto out = strategic(R"({"spec":{"$retainKeys":["type"],"type":"NodePort"}})");
    CHECK(out["spec"] == Json{{"type", "NodePort"}});
  }
  SUBCASE("lists that do not merge are replaced, null removes") {
    const auto out = strategic(R"({"spec":{"clusterIPs":["10.0.0.2"],"type":null}})");
    CHECK(out["spec"]["clusterIPs"] == Json::array({"10.0.0.2"}));
    CHECK_FALSE(out["spec"].contains("type"));
  }
}

TEST_CASE("JSON patches that would grow or nest without end are refused") {
  const Json object{{"a", {{"b", std::string(20'000, 'x')}}}};
  auto bomb = Json::array();
  for (int i = 0; i < 60; ++i)
    bomb.push_back(
        Json::parse(R"({"op":"copy","from":"/a","path":"/a/)" + std::to_string(i) + "\"}"));
  const auto grown = apply_json_patch(object, bomb);
  REQUIRE_FALSE(static_cast<bool>(grown));
  CHECK(grown.error().code == 422);
  auto nest = Json::array();
  for (int i = 0; i < 200; ++i) {
    nest.push_back(Json::parse(R"({"op":"add","path":"/n","value":{}})"));
    nest.push_back(Json::parse(R"({"op":"move","from":"/a","path":"/n/a"})"));
    nest.push_back(Json::parse(R"({"op":"move","from":"/n","path":"/a"})"));
  }
  const auto nested = apply_json_patch(object, nest);
  REQUIRE_FALSE(static_cast<bool>(nested));
  CHECK(nested.error().message.find("deep") != std::string::npos);
}

TEST_CASE("a list of thousands is merged in no time") {
  auto ports = Json::array();
  auto order = Json::array();
  for (int i = 1; i <= 4000; ++i) {
    ports.push_back({{"port", i}, {"name", "p" + std::to_string(i)}});
    order.push_back({{"port", 4001 - i}});
  }
  const Json object{{"spec", {{"ports", ports}}}};
  const Json patch{{"spec", {{"$setElementOrder/ports", order}, {"ports", ports}}}};
  const auto begin = std::chrono::steady_clock::now();
  const auto merged = apply_strategic_merge_patch(object, patch, Schema::get().root("Service"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  REQUIRE(static_cast<bool>(merged));
  REQUIRE((*merged)["spec"]["ports"].size() == 4000);
  CHECK((*merged)["spec"]["ports"][0]["port"] == 4000);
}

#include "merge/managed_fields.hpp"

#include "merge/field_set.hpp"

#include <doctest/doctest.h>

using namespace kindlb::apiserver;

namespace {
const FieldManager kAlice{"alice", "", "2026-01-01T00:00:00Z"};
const FieldManager kBob{"bob", "", "2026-01-01T00:00:01Z"};
const FieldManager kStatus{"kindlb", "status", "2026-01-01T00:00:02Z"};

Json config(const char* spec) {
  return {{"metadata", {{"name", "web"}}}, {"spec", Json::parse(spec)}};
}

Json applied(const Json& live, const Json& wanted, const FieldManager& manager,
             bool force = false) {
  const auto out = apply_config(live, wanted, services(), manager, force);
  REQUIRE(static_cast<bool>(out));
  return *out;
}

Json fields_of_manager(const Json& object, const std::string& manager) {
  for (const auto& entry : list_at(object, {"metadata", "managedFields"}))
    if (text_at(entry, {"manager"}) == manager) return entry["fieldsV1"];
  return nullptr;
}
}  // namespace

TEST_CASE("field sets survive their JSON form") {
  const auto set =
      fields_of(config(R"({"ports":[{"port":80,"protocol":"TCP"}],"type":"NodePort"})"),
                Schema::get().root("Service"), true);
  CHECK(from_fields_v1(to_fields_v1(set)) == set);
}

TEST_CASE("an apply owns exactly what it names") {
  const auto out = applied(Json{{"metadata", {{"name", "web"}}}},
                           config(R"({"ports":[{"port":80,"name":"http"}]})"), kAlice);
  CHECK(fields_of_manager(out, "alice") ==
        Json::parse(R"({"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":
                        {".":{},"f:name":{},"f:port":{}}}}})"));
}

TEST_CASE("applying the same configuration again changes nothing") {
  const auto wanted = config(R"({"type":"LoadBalancer","ports":[{"port":80,"protocol":"TCP"}]})");
  const auto once = applied(Json{{"metadata", {{"name", "web"}}}}, wanted, kAlice);
  const FieldManager later{"alice", "", "2027-01-01T00:00:00Z"};
  CHECK(applied(once, wanted, later) == once);
}

TEST_CASE("a field of another manager is a conflict, unless forced or equal") {
  const auto live =
      applied(Json{{"metadata", {{"name", "web"}}}}, config(R"({"type":"NodePort"})"), kAlice);
  const auto other = config(R"({"type":"LoadBalancer"})");
  const auto refused = apply_config(live, other, services(), kBob, false);
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.error().code == 409);
  CHECK(refused.error().message ==
        "Apply failed with 1 conflict: conflict with \"alice\": .spec.type");
  CHECK(refused.error().causes ==
        std::vector<Cause>{{"FieldManagerConflict", "conflict with \"alice\"", ".spec.type"}});

  const auto forced = applied(live, other, kBob, true);
  CHECK(forced["spec"]["type"] == "LoadBalancer");
  CHECK(fields_of_manager(forced, "alice").is_null());

  const auto shared = applied(live, config(R"({"type":"NodePort"})"), kBob);
  CHECK(fields_of_manager(shared, "alice") == fields_of_manager(shared, "bob"));
}

TEST_CASE("a field that an apply no longer names is removed, unless shared") {
  auto live = applied(Json{{"metadata", {{"name", "web"}}}},
                      config(R"({"type":"NodePort","ports":[{"port":80,"protocol":"TCP"},
                                 {"port":443,"protocol":"TCP"}]})"),
                      kAlice);
  live = applied(live, config(R"({"ports":[{"port":443,"protocol":"TCP","name":"https"}]})"), kBob);
  const auto less = applied(live, config(R"({"sessionAffinity":"None"})"), kAlice);
  CHECK_FALSE(less["spec"].contains("type"));
  REQUIRE(less["spec"]["ports"].size() == 1);
  CHECK(less["spec"]["ports"][0] == Json::parse(R"({"port":443,"protocol":"TCP","name":"https"})"));
}

TEST_CASE("an update takes over what it changes and forgets what it removes") {
  const auto before = applied(Json{{"metadata", {{"name", "web"}}}},
                              config(R"({"type":"NodePort","sessionAffinity":"None"})"), kAlice);
  auto after = before;
  after["spec"]["type"] = "LoadBalancer";
  after["spec"].erase("sessionAffinity");
  track_update(&before, after, services(), kBob);
  CHECK(fields_of_manager(after, "alice").is_null());
  CHECK(fields_of_manager(after, "bob") == Json::parse(R"({"f:spec":{"f:type":{}}})"));
}

TEST_CASE("each endpoint tracks its own half of the object") {
  Json config_of_status = Json::parse(R"({"metadata":{"name":"web","finalizers":["a/b"]},
      "spec":{"type":"NodePort"},
      "status":{"conditions":[{"type":"T","status":"True"}]}})");
  const auto out = applied(Json{{"metadata", {{"name", "web"}}}}, config_of_status, kStatus);
  CHECK(fields_of_manager(out, "kindlb") ==
        Json::parse(R"({"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}}},
          "f:status":{"f:conditions":{"k:{\"type\":\"T\"}":{".":{},"f:status":{},"f:type":{}}}}})"));
}

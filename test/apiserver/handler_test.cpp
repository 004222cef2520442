#include "verbs/handler.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace kindlb::apiserver;

namespace {
constexpr const char* kServices = "/api/v1/namespaces/default/services";

struct Rig {
  Rig() : api({.gates = {}, .service_ranges = {*kindlb::core::Cidr::parse("10.96.0.0/16")}}) {}

  Response call(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& type = "application/json",
                std::map<std::string, std::string> query = {}) {
    return handler.handle({.method = method,
                           .path = path,
                           .query = std::move(query),
                           .content_type = type,
                           .accept = "application/json",
                           .user_agent = "test/1",
                           .body = body});
  }
  Json get(const std::string& path, std::map<std::string, std::string> query = {}) {
    return Json::parse(call("GET", path, "", "", std::move(query)).body);
  }
  void make(const std::string& name) {
    const auto answer = call("POST", kServices,
                             R"({"metadata":{"name":")" + name +
                                 R"("},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}})");
    REQUIRE(answer.code == 201);
  }

  Api api;
  FaultInjector faults;
  Handler handler{api, faults};
};
}  // namespace

TEST_CASE("paths") {
  struct Case {
    const char* path;
    const char* what;
  };
  const Case cases[] = {
      {"/api/v1/services", "services///"},
      {"/api/v1/namespaces/a/services", "services/a//"},
      {"/api/v1/namespaces/a/services/b/status", "services/a/b/status"},
      {"/api/v1/namespaces/a", "namespaces//a/"},
      {"/api/v1/namespaces/a/status", "namespaces//a/status"},
      {"/apis/discovery.k8s.io/v1/namespaces/a/endpointslices/x", "endpointslices/a/x/"},
      {"/api/v1/services/b", "none"},
      {"/api/v1/namespaces/a/services/b/scale", "none"},
      {"/api/v1/namespaces/a/nodes", "none"},
      {"/api/v2/services", "none"},
      {"/apis/discovery.k8s.io", "none"},
      {"/", "none"},
      {"", "none"}};
  for (const auto& c : cases) {
    CAPTURE(c.path);
    const auto target = parse_request_info(c.path);
    const auto what = target ? target->resource->plural + "/" + target->ns + "/" + target->name +
                                   "/" + target->subresource
                             : std::string("none");
    CHECK(what == c.what);
  }
}

TEST_CASE("a list comes in pages of one moment") {
  Rig rig;
  for (const char* name : {"a", "b", "c", "d"}) rig.make(name);
  const auto first = rig.get(kServices, {{"limit", "2"}});
  REQUIRE(first["items"].size() == 2);
  CHECK(first["metadata"]["remainingItemCount"] == 3);  // with "kubernetes"
  rig.call("DELETE", std::string(kServices) + "/c");
  const auto rest =
      rig.get(kServices, {{"limit", "9"}, {"continue", first["metadata"]["continue"]}});
  REQUIRE(rest["items"].size() == 3);
  CHECK(rest["items"][0]["metadata"]["name"] == "c");
  CHECK(rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]);
  CHECK_FALSE(rest["metadata"].contains("continue"));
  CHECK(rig.call("GET", kServices, "", "", {{"continue", "nonsense"}}).code == 400);
  CHECK(rig.get(kServices, {{"limit", "-1"}})["items"].size() == 4);
  CHECK(rig.call("GET", kServices, "", "", {{"limit", "many"}}).code == 400);
}

TEST_CASE("a write against an old version is a conflict") {
  Rig rig;
  rig.make("a");
  auto object = rig.get(std::string(kServices) + "/a");
  object["metadata"]["labels"] = {{"x", "1"}};
  CHECK(rig.call("PUT", std::string(kServices) + "/a", object.dump()).code == 200);
  object["metadata"]["labels"] = {{"x", "2"}};
  const auto refused = rig.call("PUT", std::string(kServices) + "/a", object.dump());
  CHECK(refused.code == 409);
  CHECK(Json::parse(refused.body)["reason"] == "Conflict");
}

TEST_CASE("an object with finalizers goes when the last one is gone") {
  Rig rig;
  rig.make("a");
  const auto path = std::string(kServices) + "/a";
  const auto merge = "application/merge-patch+json";
  rig.call("PATCH", path, R"({"metadata":{"finalizers":["a.b/c"]}})", merge);
  CHECK(rig.call("DELETE", path).code == 200);
  CHECK(rig.get(path)["metadata"].contains("deletionTimestamp"));
  CHECK(rig.call("PATCH", path, R"({"metadata":{"finalizers":null}})", merge).code == 200);
  CHECK(rig.call("GET", path).code == 404);
}

TEST_CASE("a namespace ends with everything in it") {
  Rig rig;
  rig.call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"demo"}})");
  const std::string in_demo = "/api/v1/namespaces/demo/services";
  rig.call("POST", in_demo,
           R"({"metadata":{"name":"a","finalizers":["a.b/c"]},"spec":{"ports":[{"port":1}]}})");
  rig.call("POST", in_demo, R"({"metadata":{"name":"b"},"spec":{"ports":[{"port":1}]}})");
  CHECK(rig.call("DELETE", "/api/v1/namespaces/demo").code == 200);
  CHECK(rig.get("/api/v1/namespaces/demo")["status"]["phase"] == "Terminating");
  CHECK(rig.call("POST", in_demo, R"({"metadata":{"name":"c"},"spec":{"ports":[{"port":1}]}})")
            .code == 403);
  rig.call("PATCH", in_demo + "/a", R"({"metadata":{"finalizers":null}})",
           "application/merge-patch+json");
  CHECK(rig.call("GET", "/api/v1/namespaces/demo").code == 404);
}

TEST_CASE("a collection is deleted as far as it is selected") {
  Rig rig;
  for (const char* name : {"a", "b"}) rig.make(name);
  CHECK(rig.call("DELETE", kServices, "", "", {{"fieldSelector", "metadata.name=a"}}).code == 200);
  CHECK(rig.call("GET", std::string(kServices) + "/a").code == 404);
  CHECK(rig.call("GET", std::string(kServices) + "/b").code == 200);
}

TEST_CASE("a Service may begin with a PUT, but not with one of its status") {
  Rig rig;
  const auto body = R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":1}]}})";
  CHECK(rig.call("PUT", std::string(kServices) + "/a/status", body).code == 404);
  CHECK(rig.call("PUT", std::string(kServices) + "/a", body).code == 201);
  CHECK(rig.call("PUT", std::string(kServices) + "/a", body).code == 200);
  CHECK(rig.call("PUT", "/api/v1/nodes/n", R"({"metadata":{"name":"n"}})").code == 404);
}

TEST_CASE("a dry run checks everything and keeps nothing") {
  Rig rig;
  const auto body = R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":1}]}})";
  const auto answer = rig.call("POST", kServices, body, "application/json", {{"dryRun", "All"}});
  CHECK(answer.code == 201);
  CHECK(Json::parse(answer.body)["spec"].contains("clusterIP"));
  CHECK(rig.call("GET", std::string(kServices) + "/a").code == 404);
  CHECK(rig.call("POST", kServices, R"({"metadata":{"name":"a"},"spec":{}})", "application/json",
                 {{"dryRun", "All"}})
            .code == 422);
}

TEST_CASE("faults meet the requests they were made for, as often as asked") {
  Rig rig;
  const auto add = [&](const char* fault) {
    REQUIRE(rig.call("POST", "/sandbox/faults", fault).code == 200);
  };
  add(R"({"kind":"too-many","verb":"list","resource":"services","times":2,"retryAfter":7})");
  CHECK(rig.call("GET", "/api/v1/nodes").code == 200);
  const auto refused = rig.call("GET", kServices);
  CHECK(refused.code == 429);
  CHECK(refused.headers == std::vector<std::pair<std::string, std::string>>{{"Retry-After", "7"}});
  CHECK(rig.call("GET", kServices).code == 429);
  CHECK(rig.call("GET", kServices).code == 200);
  add(R"({"kind":"conflict","verb":"create"})");
  CHECK(rig.call("POST", kServices, "{}").code == 409);
  add(R"({"kind":"error"})");
  CHECK(rig.call("GET", kServices).code == 500);
  add(R"({"kind":"expired","verb":"watch"})");
  CHECK(rig.call("GET", kServices, "", "", {{"watch", "1"}}).code == 410);
  add(R"({"kind":"slow","delayMilliseconds":30})");
  CHECK(rig.call("GET", kServices).delay == std::chrono::milliseconds(30));
  CHECK(rig.call("POST", "/sandbox/faults", R"({"kind":"magic"})").code == 400);
}

TEST_CASE("malformed bodies get a Status and change nothing") {
  Rig rig;
  rig.make("a");
  const auto before = rig.api.store().revision();
  const std::string deep(5'000, '[');
  const std::string bodies[] = {"",
                                "{",
                                "null",
                                "[]",
                                "\"x\"",
                                "1e999",
                                deep,
                                "{\"a\":\xff}",
                                R"({"metadata":7})",
                                R"({"metadata":{"name":[]}})",
                                R"({"metadata":{"name":"a"},"spec":[]})",
                                R"({"metadata":{"name":"a"},"spec":{"ports":{"port":1}}})",
                                R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":1e30}]}})",
                                R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":-1}]}})",
                                R"({"metadata":{"name":"a"},"spec":{"ports":[null]}})",
                                R"({"metadata":{"name":"a","labels":{"x":{}}}})"};
  for (const auto& body : bodies) {
    CAPTURE(body.substr(0, 60));
    for (const char* method : {"POST", "PUT", "PATCH"}) {
      for (const char* type :
           {"application/json", "application/json-patch+json", "application/merge-patch+json",
            "application/strategic-merge-patch+json", "application/apply-patch+yaml",
            "application/vnd.kubernetes.protobuf", "text/plain"}) {
        const bool collection = std::string(method) == "POST";
        const auto answer = rig.call(method, collection ? kServices : std::string(kServices) + "/a",
                                     body, type, {{"fieldManager", "fuzz"}});
        if (answer.code / 100 == 2) continue;  // an empty patch is a patch
        CHECK(Json::parse(answer.body)["kind"] == "Status");
        CHECK(answer.code >= 400);
        CHECK(answer.code < 500);
      }
    }
  }
  CHECK(rig.api.store().revision() == before);
}

TEST_CASE("broken bytes of good requests never do worse than be refused") {
  Rig rig;
  rig.make("a");
  const std::string good =
      R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"type":"LoadBalancer",)"
      R"("ports":[{"port":80,"name":"a"},{"port":81,"name":"b","protocol":"UDP"}],)"
      R"("clusterIPs":["10.96.0.7"],"ipFamilies":["IPv4"],"sessionAffinity":"ClientIP"}})";
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    auto body = good;
    for (int edits = 0; edits < 3; ++edits) {
      const auto at = random() % body.size();
      if (random() % 2 == 0)
        body[at] = "\"{}[]:,0-nulltre\\x"[random() % 18];
      else
        body.erase(at, 1 + random() % 9);
    }
    for (const char* type : {"application/merge-patch+json", "application/apply-patch+yaml",
                             "application/strategic-merge-patch+json"}) {
      const auto answer = rig.call("PATCH", std::string(kServices) + "/a", body, type,
                                   {{"fieldManager", "fuzz"}, {"force", "true"}});
      CHECK_MESSAGE(answer.code < 500, body);
    }
  }
}

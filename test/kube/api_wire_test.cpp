// The API client against a scripted server: requests as they go out, and answers a real server
// gives only in a race.

#include "kindlb/kube/api.hpp"
#include "support/printing.hpp"
#include "support/servers/http_server.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace kindlb;
using core::ErrorKind;
using test::Exchange;
using test::Received;

namespace {
const std::string kService =
    R"({"metadata":{"name":"web","namespace":"n","uid":"u","resourceVersion":"5",)"
    R"("finalizers":["service.kubernetes.io/load-balancer-cleanup"]}})";
const core::StatusApply kApply{.key = {"kind", "n", "web"},
                               .uid = "u",
                               .finalizer = true,
                               .observed = "h",
                               .ingress = {},
                               .conditions = {}};
const kube::ReleasePatch kRelease{.key = {"kind", "n", "web"}, .uid = "u", .clear_status = false};

/// Answers by script and keeps what was asked.
class Recorded {
 public:
  explicit Recorded(test::Script script)
      : server_([this, script = std::move(script)](Exchange& exchange) {
          {
            const std::lock_guard lock(mutex_);
            requests_.push_back(exchange.request());
          }
          script(exchange);
        }) {
    auto client = http::make_client({.url = server_.url()});
    REQUIRE(client.ok());
    api = kube::make_api(std::move(*client), "kind");
  }
  std::vector<Received> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::shared_ptr<kube::Api> api;

 private:
  std::mutex mutex_;
  std::vector<Received> requests_;
  test::HttpServer server_;
};

test::Script always(int status, const std::string& body) {
  return [status, body](Exchange& exchange) { exchange.answer(status, body); };
}

/// One answer for reads, another for writes.
test::Script get_and_patch(const std::string& got, int patch_status, const std::string& patched) {
  return [=](Exchange& exchange) {
    const bool get = exchange.request().method == "GET";
    exchange.answer(get ? 200 : patch_status, get ? got : patched);
  };
}
}  // namespace

TEST_CASE("an apply is one request") {
  Recorded server(always(200, kService));
  const auto service = server.api->apply_status(kApply);
  REQUIRE_MESSAGE(service.ok(), service.error().text());
  CHECK(service->key == core::ServiceKey{"kind", "n", "web"});
  REQUIRE(server.requests().size() == 1);
  const auto request = server.requests()[0];
  CHECK(request.method == "PATCH");
  CHECK(request.target ==
        "/api/v1/namespaces/n/services/web/status?fieldManager=kindlb&force=true");
  CHECK(request.header("Content-Type") == "application/apply-patch+yaml");
  CHECK(request.header("Accept") == "application/json");
}

TEST_CASE("an apply without a uid never leaves the house") {
  Recorded server(always(200, kService));
  auto apply = kApply;
  apply.uid.clear();
  CHECK(server.api->apply_status(apply).error().kind == ErrorKind::Invalid);
  CHECK(server.requests().empty());
}

TEST_CASE("a refused apply is NotFound only when the object we meant is gone") {
  struct Case {
    const char* name;
    int status;
    int read_status;
    std::string read;
    ErrorKind want;
  };
  const std::string namesake = R"({"metadata":{"uid":"other"}})";
  const Case cases[] = {
      {"409, nothing there", 409, 404, "{}", ErrorKind::NotFound},
      {"409, a namesake", 409, 200, namesake, ErrorKind::NotFound},
      {"409, still there", 409, 200, kService, ErrorKind::Conflict},
      {"422, a namesake", 422, 200, namesake, ErrorKind::NotFound},
      {"422, still there", 422, 200, kService, ErrorKind::Invalid},
      {"422, and then the server is gone", 422, 503, "", ErrorKind::Invalid},
      {"404", 404, 404, "", ErrorKind::NotFound},
      {"403", 403, 200, namesake, ErrorKind::Denied},
      {"500", 500, 200, namesake, ErrorKind::Unavailable},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Recorded server([&c](Exchange& exchange) {
        if (exchange.request().method == "GET") return exchange.answer(c.read_status, c.read);
        exchange.answer(c.status, R"({"kind":"Status","message":"no"})");
      });
      const auto applied = server.api->apply_status(kApply);
      REQUIRE_FALSE(applied.ok());
      CHECK(applied.error().kind == c.want);
      CHECK(applied.error().operation == "apply status of n/web");
      CHECK(applied.error().detail.starts_with("no (HTTP "));
    }
  }
}

TEST_CASE("an answer that is no Service is a Protocol error") {
  for (const char* body : {"", "null", "[]", R"({"metadata":{"name":1}})"}) {
    SUBCASE(body) {
      Recorded server(always(200, body));
      CHECK(server.api->apply_status(kApply).error().kind == ErrorKind::Protocol);
    }
  }
}

TEST_CASE("a release that is refused for good does not go on for ever") {
  SUBCASE("422 for the very version that was read: the patch itself is disliked") {
    Recorded server(get_and_patch(kService, 422, "{}"));
    CHECK(server.api->release(kRelease).error().kind == ErrorKind::Invalid);
    CHECK(server.requests().size() == 3);
  }
  SUBCASE("one conflict after the other") {
    Recorded server(get_and_patch(kService, 409, "{}"));
    CHECK(server.api->release(kRelease).error().kind == ErrorKind::Conflict);
    CHECK(server.requests().size() == 16);
  }
  SUBCASE("denied") {
    Recorded server(get_and_patch(kService, 403, "{}"));
    CHECK(server.api->release(kRelease).error().kind == ErrorKind::Denied);
    CHECK(server.requests().size() == 2);
  }
  SUBCASE("gone between the two requests") {
    Recorded server(get_and_patch(kService, 404, "{}"));
    CHECK(server.api->release(kRelease).ok());
  }
}

TEST_CASE("version and cluster uid") {
  CHECK(*Recorded(always(200, R"({"gitVersion":"v1.36.3"})")).api->server_version() == "v1.36.3");
  CHECK(*Recorded(always(200, R"({"metadata":{"uid":"x"}})")).api->cluster_uid() == "x");
  for (const char* body : {"", "{}", R"({"metadata":[]})", R"({"metadata":{"uid":{}}})"}) {
    SUBCASE(body) {
      CHECK(Recorded(always(200, body)).api->cluster_uid().error().kind == ErrorKind::Protocol);
    }
  }
}

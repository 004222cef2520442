#include "apiserver/wire_rig.hpp"
#include "kindlb/kube/config.hpp"

using namespace kindlb;
using namespace kindlb::test;

TEST_CASE("a watch reports changes in order and at once") {
  const auto server = start();
  const auto client = client_of(*server);
  const auto from = Json::parse(send(*client, "GET", kServices).body)["metadata"]["resourceVersion"]
                        .get<std::string>();
  Watcher watcher(*server, "resourceVersion=" + from);
  make(*client, "a");
  send(*client, "PATCH", std::string(kServices) + "/a", R"({"metadata":{"labels":{"x":"y"}}})",
       "application/merge-patch+json");
  send(*client, "DELETE", std::string(kServices) + "/a");
  CHECK(watcher.until([](const auto& events) {
    return events.size() == 3 && type_and_name(events[0]) == "ADDED a" &&
           type_and_name(events[1]) == "MODIFIED a" && type_and_name(events[2]) == "DELETED a";
  }));
}

TEST_CASE("a watch by label sees objects enter and leave its selection") {
  const auto server = start();
  const auto client = client_of(*server);
  make(*client, "a");
  Watcher watcher(*server, "labelSelector=x%3Dy");
  const auto label = [&](const char* patch) {
    send(*client, "PATCH", std::string(kServices) + "/a", patch, "application/merge-patch+json");
  };
  while (!watcher.open()) std::this_thread::sleep_for(1ms);
  label(R"({"metadata":{"labels":{"x":"y"}}})");
  label(R"({"metadata":{"labels":{"x":null}}})");
  CHECK(watcher.until([](const auto& events) {
    return events.size() == 2 && type_and_name(events[0]) == "ADDED a" &&
           type_and_name(events[1]) == "DELETED a";
  }));
}

TEST_CASE("initial events end with a bookmark that says so") {
  const auto server = start();
  Watcher watcher(*server,
                  "sendInitialEvents=true&allowWatchBookmarks=true&"
                  "resourceVersionMatch=NotOlderThan");
  CHECK(watcher.until([](const auto& events) {
    return events.size() == 2 && type_and_name(events[0]) == "ADDED kubernetes" &&
           events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true";
  }));
}

TEST_CASE("a watch from a compacted revision gets 410") {
  apiserver::ServerOptions options;
  options.history = 4;
  const auto server = start(options);
  const auto client = client_of(*server);
  for (int i = 0; i < 8; ++i) make(*client, "s" + std::to_string(i));
  Watcher watcher(*server, "resourceVersion=1");
  CHECK(watcher.until([](const auto& events) {
    return events.size() == 1 && events[0]["type"] == "ERROR" && events[0]["object"]["code"] == 410;
  }));
  CHECK(watcher.until_over());
}

TEST_CASE("watches can be dropped, end in time, and end with the server") {
  auto server = start();
  const auto client = client_of(*server);
  SUBCASE("dropped") {
    Watcher watcher(*server, "");
    CHECK(watcher.until([](const auto& events) { return !events.empty(); }));
    send(*client, "POST", "/sandbox/faults", R"({"kind":"drop-watches"})");
    CHECK(watcher.until_over());
  }
  SUBCASE("timeout") {
    Watcher watcher(*server, "timeoutSeconds=1");
    CHECK(watcher.until_over());
  }
  SUBCASE("stop") {
    Watcher watcher(*server, "");
    CHECK(watcher.until([](const auto& events) { return !events.empty(); }));
    const auto begin = Clock::now();
    server->stop();
    CHECK(watcher.until_over());
    CHECK(Clock::now() - begin < 10s);
  }
}

TEST_CASE("watches beyond the limit get 429 and leave room for other requests") {
  apiserver::ServerOptions options;
  options.max_watches = 3;
  options.max_requests = 6;
  const auto server = start(options);
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 3; ++i) {
    watchers.push_back(std::make_unique<Watcher>(*server, ""));
    CHECK(watchers.back()->until([](const auto& events) { return !events.empty(); }));
  }
  const auto client = client_of(*server);
  const auto refused = send(*client, "GET", "/api/v1/services?watch=1");
  CHECK(refused.status == 429);
  CHECK(refused.header("Retry-After") == "1");
  CHECK(send(*client, "GET", kServices).status == 200);
  // A client that went away gives its place back.
  watchers.pop_back();
  const auto deadline = Clock::now() + 20s;
  int status = 429;
  while (status == 429 && Clock::now() < deadline)
    status = send(*client, "GET", "/api/v1/services?watch=1&timeoutSeconds=1").status;
  CHECK(status == 200);
}

TEST_CASE("the port accepts TLS and plain HTTP") {
  apiserver::ServerOptions options;
  options.tls = true;
  const auto server = start(options);
  const auto access = kube::parse_kubeconfig(server->kubeconfig(), "", "");
  REQUIRE(access.ok());
  CHECK(access->endpoint.url.starts_with("https://127.0.0.1:"));
  const std::shared_ptr<http::Client> secure = *http::make_client(access->endpoint);
  make(*secure, "a");
  CHECK(send(*client_of(*server), "GET", std::string(kServices) + "/a").status == 200);
  // Answers and bodies of more than one record.
  for (int i = 0; i < 3; ++i) {
    const Json patch{{"metadata", {{"annotations", {{"x", std::string(200'000, 'x')}}}}}};
    CHECK(send(*secure, "PATCH", std::string(kServices) + "/a", patch.dump(),
               "application/merge-patch+json")
              .body.size() > 200'000);
  }
  SUBCASE("a watch") {
    Watcher watcher(secure, "");
    CHECK(watcher.until([](const auto& events) { return events.size() == 2; }));
    make(*secure, "b");
    CHECK(watcher.until([](const auto& events) { return events.size() == 3; }));
    send(*secure, "POST", "/sandbox/faults", R"({"kind":"drop-watches"})");
    CHECK(watcher.until_over());
  }
  SUBCASE("a client that does not trust the certificate") {
    auto stranger = access->endpoint;
    stranger.tls.ca_pem.clear();
    CHECK_FALSE((*http::make_client(stranger))->send({.target = kServices}).ok());
  }
}

TEST_CASE("an incomplete TLS handshake times out") {
  apiserver::ServerOptions options;
  options.header_timeout = 200ms;
  const auto server = start(options);
  BareClient client(server->port());
  client.say("\x16\x03\x01\x02");
  client.receive();
  CHECK(client.over());
}

TEST_CASE("an address that is taken is an error, not a crash") {
  const auto server = start();
  apiserver::ServerOptions options;
  options.port = server->port();
  const auto second = apiserver::start_server(options);
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().kind == core::ErrorKind::Unavailable);
}

TEST_CASE("where to listen") {
  CHECK(apiserver::parse_listen("127.0.0.1:8474") ==
        std::pair<std::string, int>{"127.0.0.1", 8474});
  CHECK(apiserver::parse_listen("[::1]:80") == std::pair<std::string, int>{"::1", 80});
  for (const char* text : {"", "8474", ":8474", "host:1", "127.0.0.1:", "127.0.0.1:70000", "::1"})
    CHECK_FALSE(apiserver::parse_listen(text).has_value());
}

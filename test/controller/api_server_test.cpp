// kindlb against the embedded API server, over HTTP and its watches, with feature gates that drop
// fields and with conditions switched off. The proxies are fakes, and the loop's time is a test's:
// so a minute without a write takes no minute.
#include "apiserver/wire_rig.hpp"
#include "cluster_feed.hpp"
#include "controller/harness.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/kube/api.hpp"
#include "support/temp_folder.hpp"

#include <algorithm>

using namespace kindlb;
using namespace kindlb::test;

namespace {

/// Counts the status writes of each Service, and remembers the last answer.
class CountingApi final : public kube::Api {
 public:
  explicit CountingApi(std::shared_ptr<kube::Api> api) : api_(std::move(api)) {}

  core::Result<std::string> server_version(std::stop_token stop) override {
    return api_->server_version(std::move(stop));
  }
  core::Result<std::string> cluster_uid() override { return api_->cluster_uid(); }
  core::Result<core::Service> apply_status(const core::StatusApply& apply) override {
    auto answer = api_->apply_status(apply);
    const std::lock_guard lock(mutex_);
    ++writes_[apply.key.name];
    if (answer.ok()) answers_.insert_or_assign(apply.key.name, *answer);
    return answer;
  }
  core::Result<void> release(const kube::ReleasePatch& patch) override {
    return api_->release(patch);
  }
  core::Result<void> emit(const core::Service& about, const core::EventNote& note) override {
    return api_->emit(about, note);
  }

  int writes(const std::string& name = "web") const {
    const std::lock_guard lock(mutex_);
    const auto found = writes_.find(name);
    return found == writes_.end() ? 0 : found->second;
  }
  core::Service answer() const {
    const std::lock_guard lock(mutex_);
    return answers_.at("web");
  }

 private:
  const std::shared_ptr<kube::Api> api_;
  mutable std::mutex mutex_;
  std::map<std::string, int> writes_;
  std::map<std::string, core::Service> answers_;
};

/// A kindlb that serves the cluster "api" of an embedded server.
class Served {
 public:
  Served(FakeWorld& world, const std::string& url, bool conditions = true)
      : kindlb_(world, options(conditions)), client_(client_at(url)) {
    kindlb_.on_loop([this] { kindlb_.reconciler().add_cluster("api", "kind", api); });
    feed_ = std::make_unique<controller::ClusterFeed>(kindlb_.loop(), kindlb_.reconciler(), "api",
                                                      client_);
  }

  /// True as soon as `holds` does. The loop's time passes with that of the machine.
  bool until(const std::function<bool()>& holds) {
    const auto deadline = Clock::now() + 20s;
    while (!holds()) {
      if (Clock::now() > deadline) return false;
      kindlb_.pass(5ms);
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  void pass(std::chrono::milliseconds duration) { kindlb_.pass(duration); }

 private:
  static Kindlb::Options options(bool conditions) {
    Kindlb::Options out;
    out.policy.conditions = conditions;
    return out;
  }
  static std::shared_ptr<http::Client> client_at(const std::string& url) {
    auto client = http::make_client({.url = url});
    REQUIRE(client.ok());
    return std::move(*client);
  }

  Kindlb kindlb_;
  std::shared_ptr<http::Client> client_;

 public:
  std::shared_ptr<CountingApi> api = std::make_shared<CountingApi>(kube::make_api(client_, "api"));

 private:
  std::unique_ptr<controller::ClusterFeed> feed_;
};

void create(http::Client& client, const std::string& name) {
  REQUIRE(send(client, "POST", kServices,
               R"({"metadata":{"name":")" + name +
                   R"("},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}})")
              .status == 201);
}

Json status_of(http::Client& client, const std::string& name = "web") {
  return Json::parse(send(client, "GET", std::string(kServices) + "/" + name).body)["status"];
}

std::string address_of(http::Client& client, const std::string& name = "web") {
  const auto status = status_of(client, name);
  const auto ingress = status["loadBalancer"].value("ingress", Json::array());
  return ingress.empty() ? "" : ingress[0].value("ip", "");
}

std::size_t conditions_of(http::Client& client) {
  return status_of(client).value("conditions", Json::array()).size();
}

/// What happened to "web" before `name` was created has been seen when `name` is served: both are
/// on one watch.
void serve_another(Served& served, http::Client& client, const std::string& name) {
  create(client, name);
  REQUIRE(served.until([&] { return !address_of(client, name).empty(); }));
}

std::size_t sends_to_web(const FakeWorld& world) {
  const auto steps = world.journal.steps();
  return static_cast<std::size_t>(
      std::count_if(steps.begin(), steps.end(), [](const std::string& step) {
        return step.starts_with("send ") && step.ends_with(" api/default/web");
      }));
}

}  // namespace

TEST_CASE("gates that drop fields cause no write but the two that serve a Service") {
  struct Case {
    const char* name;
    apiserver::FeatureGates gates;
    bool ports;
    std::size_t conditions;
  };
  const Case cases[] = {
      {"MixedProtocolLBService=false", {.mixed_protocol_lb_service = false}, false, 2},
      {"LoadBalancerStatusImprovements=false",
       {.load_balancer_status_improvements = false},
       true,
       2},
      {"both",
       {.load_balancer_status_improvements = false, .mixed_protocol_lb_service = false},
       false,
       0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const auto server = start({.gates = c.gates});
    const auto client = client_of(*server);
    FakeWorld world;
    Served served(world, server->url());
    create(*client, "web");
    REQUIRE(served.until([&] { return !address_of(*client).empty(); }));
    serve_another(served, *client, "later");
    CHECK(served.api->writes() == 2);
    served.pass(60s);
    serve_another(served, *client, "last");
    CHECK(served.api->writes() == 2);

    CHECK(conditions_of(*client) == c.conditions);
    CHECK(status_of(*client)["loadBalancer"]["ingress"][0].contains("ports") == c.ports);
    for (const auto& condition : served.api->answer().status.conditions)
      CHECK(condition.last_transition <= world.clock.wall());
    CHECK(send(*client, "DELETE", std::string(kServices) + "/web").status == 200);
    CHECK(served.until(
        [&] { return send(*client, "GET", std::string(kServices) + "/web").status == 404; }));
  }
}

TEST_CASE("a gate that is switched on completes the status of Services that are served") {
  const TempFolder folder;
  apiserver::ServerOptions options{
      .gates = {.load_balancer_status_improvements = false, .mixed_protocol_lb_service = false}};
  options.state_file = folder / "state";
  auto server = start(options);
  options.port = server->port();
  FakeWorld world;
  Served served(world, server->url());
  create(*client_of(*server), "web");
  REQUIRE(served.until([&] { return !address_of(*client_of(*server)).empty(); }));
  const auto address = address_of(*client_of(*server));
  REQUIRE(conditions_of(*client_of(*server)) == 0);
  const auto writes = served.api->writes();

  server.reset();
  options.gates = {};
  server = start(options);
  const auto client = client_of(*server);
  REQUIRE(served.until([&] { return conditions_of(*client) == 2; }));
  serve_another(served, *client, "later");
  CHECK(status_of(*client)["loadBalancer"]["ingress"][0].contains("ports"));
  CHECK(address_of(*client) == address);
  CHECK(served.api->writes() <= writes + 2);  // the answer to one may have been lost
  CHECK(core::is_true(served.api->answer().status.conditions, core::kServingCondition));
}

TEST_CASE("conditions are switched off, on, off and on over restarts of kindlb") {
  const auto server = start();
  const auto client = client_of(*server);
  FakeWorld world;
  create(*client, "web");
  std::string address;
  {
    Served served(world, server->url());
    REQUIRE(served.until([&] { return !address_of(*client).empty(); }));
    address = address_of(*client);
  }
  // Conditions of others are not ours to remove.
  REQUIRE(send(*client, "PATCH", std::string(kServices) + "/web/status",
               R"({"status":{"conditions":[{"type":"example.com/Other","status":"True",)"
               R"("reason":"Other","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})",
               "application/strategic-merge-patch+json")
              .status == 200);
  REQUIRE(conditions_of(*client) == 3);
  world.journal.clear();
  int round = 0;
  for (const bool on : {false, true, false, true}) {
    CAPTURE(on);
    Served served(world, server->url(), on);
    REQUIRE(served.until(
        [&] { return served.api->writes() > 0 && conditions_of(*client) == (on ? 3U : 1U); }));
    CHECK(address_of(*client) == address);
    CHECK(status_of(*client)["loadBalancer"]["ingress"][0]["ipMode"] == "Proxy");
    CHECK(core::is_true(served.api->answer().status.conditions, core::kServingCondition) == on);
    CHECK(served.api->writes() == 1);
    CHECK(sends_to_web(world) == 0);
    CHECK(world.journal.count("remove") == 0);
    serve_another(served, *client, "round-" + std::to_string(++round));
    CHECK(served.api->writes() == 1);
  }
}

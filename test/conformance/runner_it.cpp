// The runner against a real API server, with providers of every behaviour.
#include "conformance/runner_fixture.hpp"

#include <optional>

using namespace kindlb;
using namespace kindlb::conformance;
using namespace std::chrono_literals;
using Json = nlohmann::json;

TEST_CASE("a good provider passes, and nothing is left") {
  Fixture fixture(Behaviour::Good);
  const auto report = fixture.run(
      "^(tcp-type-and-ports|cleanup-finalizer|conditions|class-ignored|affinity(-switch)?-cluster)"
      "$");
  REQUIRE(report.results.size() == 6);
  CHECK(report.provider == Provider::WithConditions);
  for (const auto& result : report.results) check(result, Verdict::Pass, "");
  CHECK(exit_code(report) == 0);
  CHECK(fixture.notes.finished_names.size() == 6);
  CHECK(fixture.leftovers().empty());
  // v1.36 has no such field: who says it was required must notice.
  CHECK(mentions(report.remarks, "drops spec.requiredLoadBalancerFeatures"));
}

TEST_CASE("what is refused skips, unless every provider must do it") {
  Fixture fixture(Behaviour::Refusing);
  const auto report = fixture.run("^(tcp-type-and-ports|affinity-cluster)$");
  check(report.results.at(0), Verdict::Fail, "every provider must support this");
  check(report.results.at(1), Verdict::Skip, "LoadBalancerServing=False/Unsupported: scripted");
  CHECK(exit_code(report) == 1);
}

TEST_CASE("degraded in what the test is about") {
  Fixture fixture(Behaviour::NoAffinity);
  SUBCASE("skips when nobody could tell the provider that it is required") {
    const auto report = fixture.run("^affinity-cluster$");
    check(report.results.at(0), Verdict::Skip, "SessionAffinityNotSupported");
    CHECK(exit_code(report) == 0);
  }
  SUBCASE("fails when the provider was told") {
    fixture.settings.features_annotation = "example.com/required";
    const auto report = fixture.run("^affinity-cluster$");
    check(report.results.at(0), Verdict::Fail, "must be refused rather than degraded");
  }
}

TEST_CASE("providers that do not get there fail") {
  SUBCASE("provisions for ever") {
    Fixture fixture(Behaviour::NeverReady);
    fixture.settings.limits.provisioning = 2s;
    check(fixture.run("^cleanup-finalizer$").results.at(0), Verdict::Fail, "still provisioning");
    CHECK(fixture.leftovers().empty());
  }
  SUBCASE("gives up") {
    Fixture fixture(Behaviour::Broken);
    check(fixture.run("^affinity-cluster$").results.at(0), Verdict::Fail, "Infrastructure");
  }
  SUBCASE("says it serves, and nobody listens") {
    Fixture fixture(Behaviour::FalseClaim);
    check(fixture.run("^tcp-type-and-ports$").results.at(0), Verdict::Fail,
          "does not answer at once");
  }
  SUBCASE("says nothing of having no affinity") {
    Fixture fixture(Behaviour::SilentlyWithoutAffinity);
    fixture.settings.limits.conditions = 10s;
    check(fixture.run("^affinity-cluster$").results.at(0), Verdict::Fail,
          "waiting for connections to stick to one pod");
  }
  SUBCASE("does not tell that it saw a change") {
    Fixture fixture(Behaviour::IgnoresChanges);
    fixture.settings.limits.conditions = 10s;
    check(fixture.run("^tcp-type-and-ports$").results.at(0), Verdict::Fail,
          "has not reported that it saw the change");
  }
}

TEST_CASE("a provider without conditions is judged by what it does") {
  Fixture fixture(Behaviour::WithoutConditions);
  const auto report = fixture.run("^(tcp-type-and-ports|cleanup-finalizer|conditions)$");
  CHECK(report.provider == Provider::WithoutConditions);
  check(report.results.at(0), Verdict::Pass, "");
  check(report.results.at(1), Verdict::Pass, "");
  check(report.results.at(2), Verdict::Skip, "writes no conditions");
  CHECK(mentions(report.remarks, "writes no conditions"));
}

TEST_CASE("optional and not working, without conditions, cannot be judged") {
  Fixture fixture(Behaviour::WithoutConditions);  // answers no UDP
  fixture.settings.limits.provisioning = 1s;
  check(fixture.run("^udp-type-and-ports$").results.at(0), Verdict::Skip,
        "cannot be told from broken");
}

TEST_CASE("what has worked once is supported, also without conditions") {
  Fixture fixture(Behaviour::AffinityForever);
  fixture.settings.limits.provisioning = 3s;
  check(fixture.run("^affinity-switch-cluster$").results.at(0), Verdict::Fail,
        "waiting for connections to spread over pods");
}

TEST_CASE("nobody provides") {
  Fixture fixture(Behaviour::Absent);
  fixture.settings.limits.conditions = 8s;
  const auto report = fixture.run("");
  CHECK(report.provider == Provider::None);
  CHECK(report.results.size() == 27);
  for (const auto& result : report.results) check(result, Verdict::Fail, "no provider");
  CHECK(mentions(fixture.notes.lines, "no provider"));
  CHECK(exit_code(report) == 1);
  CHECK(fixture.leftovers().empty());
}

TEST_CASE("a stop ends the tests and still cleans up") {
  Fixture fixture(Behaviour::NeverReady);
  const auto stopper = fixture.stop_once_there("\"cleanup-finalizer-");
  const auto report = fixture.run("^(cleanup-finalizer|class-ignored|conditions)$");
  for (const auto& result : report.results) check(result, Verdict::Stopped, "stopped");
  CHECK(exit_code(report) == 1);
  CHECK(fixture.leftovers().empty());
}

TEST_CASE("a stop while a provider is looked for leaves nothing to report") {
  Fixture fixture(Behaviour::Absent);
  const auto stopper = fixture.stop_once_there("\"LoadBalancer\"");
  const auto report =
      conformance::run(*fixture.objects, fixture.settings, fixture.notes, fixture.stop.get_token());
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().kind == core::ErrorKind::Cancelled);
  CHECK(fixture.leftovers().empty());
}

TEST_CASE("what a killed run left is found and removed by its label") {
  Fixture fixture(Behaviour::Good);
  const Json service{{"metadata", {{"name", "left"}, {"labels", {{kRunLabel, "old"}}}}},
                     {"spec", {{"type", "LoadBalancer"}, {"ports", {{{"port", 80}}}}}}};
  REQUIRE(fixture.objects->create("/api/v1/namespaces/" + fixture.ns + "/services", service).ok());
  CHECK(fixture.leftovers() == std::vector<std::string>{"service " + fixture.ns + "/left"});
  CHECK(remove_leftovers(*fixture.objects, fixture.notes, {}).ok());
  CHECK(fixture.leftovers().empty());
}

TEST_CASE("with one pod nobody can tell whether there is affinity") {
  Fixture fixture(Behaviour::Good);
  const auto second = "/api/v1/namespaces/" + fixture.ns + "/pods/second?gracePeriodSeconds=0";
  REQUIRE(fixture.objects->remove(second).ok());
  for (const auto& result : fixture.run("^affinity-").results)
    check(result, Verdict::Skip, "needs two pods");
}

TEST_CASE("another's Service is neither in the way nor touched") {
  Fixture fixture(Behaviour::Good);
  const auto services = "/api/v1/namespaces/" + fixture.ns + "/services";
  const Json service{{"metadata", {{"name", "conditions"}}},
                     {"spec", {{"ports", {{{"port", 80}}}}}}};
  REQUIRE(fixture.objects->create(services, service).ok());
  check(fixture.run("^conditions$").results.at(0), Verdict::Pass, "");
  CHECK(fixture.objects->get(services + "/conditions").ok());
}

TEST_CASE("two runs beside the same pods") {
  Fixture fixture(Behaviour::Good);
  auto settings = fixture.settings;
  settings.focus = "^(conditions|cleanup-finalizer)$";
  Notes notes;
  std::optional<core::Result<Report>> other;
  {
    const std::jthread at_once(
        [&] { other = conformance::run(*fixture.objects, settings, notes, {}); });
    for (const auto& result : fixture.run(settings.focus).results) check(result, Verdict::Pass, "");
  }
  REQUIRE(other->ok());
  for (const auto& result : (*other)->results) check(result, Verdict::Pass, "");
  CHECK(fixture.leftovers().empty());
}

TEST_CASE("results are there before what the tests made goes") {
  Fixture fixture(Behaviour::Good);
  std::vector<std::string> there;
  std::size_t passed = 0;
  fixture.notes.on_tests_finished = [&](const Report& report) {
    there = fixture.notes.lines;
    passed = report.count(Verdict::Pass);
  };
  CHECK(fixture.run("^conditions$").results.size() == 1);
  CHECK(passed == 1);
  CHECK_FALSE(mentions(there, "cleaning up"));
  CHECK(mentions(fixture.notes.lines, "cleaning up"));
}

TEST_CASE("what cannot begin says why") {
  Fixture fixture(Behaviour::Good);
  SUBCASE("no such pods") {
    fixture.settings.workload.selector = "app=nobody";
  }
  SUBCASE("no label") {
    fixture.settings.workload.selector = "nonsense";
  }
  SUBCASE("no such test") {
    fixture.settings.focus = "no such test";
  }
  const auto report = conformance::run(*fixture.objects, fixture.settings, fixture.notes, {});
  REQUIRE_FALSE(report.ok());
  CHECK_FALSE(report.error().detail.empty());
  CHECK(fixture.leftovers().empty());
}

TEST_CASE("pods go at once when they are told to, and in their own time otherwise") {
  Fixture fixture(Behaviour::Absent);
  const auto pods = "/api/v1/namespaces/" + fixture.ns + "/pods";
  // On a node, though nobody is there: the API waits for its kubelet.
  const Json pod{
      {"metadata", {{"name", "bound"}, {"labels", {{"app", "bound"}}}}},
      {"spec", {{"nodeName", "nowhere"}, {"containers", {{{"name", "c"}, {"image", "none"}}}}}}};
  REQUIRE(fixture.objects->create(pods, pod).ok());
  REQUIRE(fixture.objects->remove(pods + "/bound").ok());
  CHECK(fixture.objects->get(pods + "/bound").ok());
  REQUIRE(fixture.objects->remove_now(pods + "?labelSelector=app%3Dbound").ok());
  CHECK_FALSE(fixture.objects->get(pods + "/bound").ok());
  CHECK(fixture.objects->get(pods + "/first").ok());
}

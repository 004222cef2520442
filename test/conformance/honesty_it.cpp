// Providers that say something wrong, if only for a moment, and a runner that may not see
// everything.
#include "conformance/runner_fixture.hpp"

using namespace kindlb;
using namespace kindlb::conformance;
using Json = nlohmann::json;

namespace {
/// An API like the other one, except that nothing can be watched: every attempt lists once and
/// breaks.
class BrokenWatch final : public kube::Objects {
 public:
  explicit BrokenWatch(kube::Objects& real) : real_(real) {}

  core::Result<Json> get(const std::string& path, std::stop_token stop) override {
    return real_.get(path, std::move(stop));
  }
  core::Result<std::string> text(const std::string& path, std::stop_token stop) override {
    return real_.text(path, std::move(stop));
  }
  core::Result<Json> create(const std::string& path, const Json& object,
                            std::stop_token stop) override {
    return real_.create(path, object, std::move(stop));
  }
  core::Result<Json> patch(const std::string& path, const Json& changes,
                           std::stop_token stop) override {
    return real_.patch(path, changes, std::move(stop));
  }
  core::Result<Json> strategic_patch(const std::string& path, const Json& changes,
                                     std::stop_token stop) override {
    return real_.strategic_patch(path, changes, std::move(stop));
  }
  core::Result<Json> apply(const std::string& path, const Json& object, const std::string& manager,
                           std::stop_token stop) override {
    return real_.apply(path, object, manager, std::move(stop));
  }
  void watch(const std::string& /*path*/, kube::ObjectObserver& observer,
             const std::stop_token& /*stop*/) override {
    observer.listed({});
    observer.watch_state(core::Error{core::ErrorKind::Unavailable, "watch", "scripted to break"});
  }
  core::Result<void> remove(const std::string& path, std::stop_token stop) override {
    return real_.remove(path, std::move(stop));
  }
  core::Result<void> remove_now(const std::string& path) override { return real_.remove_now(path); }

 private:
  kube::Objects& real_;
};
}  // namespace

TEST_CASE("a rule that is broken for one version is broken") {
  struct Case {
    Behaviour behaviour;
    const char* test;
    const char* words;
  };
  const Case cases[] = {
      {Behaviour::AddressFirst, "conditions", "an address appeared without LoadBalancerServing"},
      {Behaviour::UnknownFirst, "conditions", "LoadBalancerServing=Unknown"},
      {Behaviour::TouchesOtherClasses, "class-ignored", "got the condition LoadBalancerServing"},
  };
  for (const auto& one : cases) {
    Fixture fixture(one.behaviour);
    const auto report = fixture.run(std::string("^") + one.test + "$");
    check(report.results.at(0), Verdict::Fail, one.words);
    CHECK_FALSE(mentions(report.remarks, "may have been missed"));
  }
}

TEST_CASE("a watch that keeps breaking changes no verdict, and the report says so") {
  Fixture fixture(Behaviour::Good);
  BrokenWatch objects(*fixture.objects);
  fixture.settings.focus = "^(tcp-type-and-ports|conditions|class-ignored)$";
  const auto report = conformance::run(objects, fixture.settings, fixture.notes, {});
  REQUIRE_MESSAGE(report.ok(), report.error().text());
  for (const auto& result : report->results) {
    check(result, Verdict::Pass, "");
    CHECK(mentions(result.notes, "may have been missed"));
  }
  CHECK(mentions(report->remarks, "versions may have been missed"));
  CHECK(mentions(report->remarks, "scripted to break"));
}

TEST_CASE("pods that see another address make the Service degraded") {
  SUBCASE("a provider that hides it fails") {
    Fixture fixture(Behaviour::HidesClients);
    check(fixture.run("^local-connects$").results.at(0), Verdict::Fail,
          "do not see the client's address");
  }
  SUBCASE("one that admits it passes") {
    Fixture fixture(Behaviour::AdmitsHiding);
    check(fixture.run("^local-connects$").results.at(0), Verdict::Pass, "");
  }
  SUBCASE("and so does one that preserves the address") {
    Fixture fixture(Behaviour::Good);
    check(fixture.run("^local-connects$").results.at(0), Verdict::Pass, "");
  }
}

TEST_CASE("a toggle that the API server lacks is not tested") {
  Fixture fixture(Behaviour::Good);
  const auto report = fixture.run("^without-(cluster-ip|health-check-port)$");
  REQUIRE(report.results.size() == 2);
  check(report.results[0], Verdict::Skip,
        "this API server lacks spec.allocateLoadBalancerClusterIP");
  check(report.results[1], Verdict::Skip,
        "this API server lacks spec.allocateLoadBalancerHCNodePort");
}

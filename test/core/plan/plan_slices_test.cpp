// EndpointSlices that lag behind the Service: what is served goes on, and nothing new is claimed
// before somebody is behind it.
#include "core/plan/plan_support.hpp"

#include <functional>

using namespace kindlb::core;
using namespace kindlb::test;
using std::chrono::milliseconds;

namespace {

/// What the EndpointSlice controller does, sooner or later: every slice gets the Service's ports,
/// with their numbers. Names resolve to 9000.
void slices_follow(Life& life) {
  for (auto& slice : life.slices) {
    slice.ports.clear();
    for (const auto& port : life.service.spec.ports) {
      const bool named = port.target_port.find_first_not_of("0123456789") != std::string::npos;
      const int number = named ? 9000 : std::stoi(port.target_port);
      slice.ports.push_back({port.name, port.protocol, static_cast<std::uint16_t>(number)});
    }
  }
}

void rename_port(Life& life) {
  life.service.spec.ports[0].name = "web";
}

void retarget_port(Life& life) {
  life.service.spec.ports[0].target_port = "9090";
}

void add_named_port(Life& life) {
  life.service.spec.ports.push_back(
      {.name = "extra", .port = 81, .target_port = "http", .node_port = 30081});
}

/// The change has been seen and announced, and `left` of the grace remains.
Plan wait_until(Life& life, milliseconds left) {
  life.step();
  life.age = kSliceGrace - left;
  return life.step();
}

}  // namespace

TEST_CASE("a change is not served before its EndpointSlices have followed") {
  struct Case {
    const char* name;
    std::function<void(Life&)> change;
  };
  const Case cases[] = {
      {"a port is renamed", rename_port},
      {"a port gets another target port", retarget_port},
      {"a port is added",
       [](Life& life) {
         life.add_port(81);
         life.slices[0].ports.pop_back();
       }},
      {"a port with a named target is added", add_named_port},
      {"a port changes its protocol",
       [](Life& life) { life.service.spec.ports[0].protocol = Protocol::Udp; }},
      {"a port is renamed, with a named target",
       [](Life& life) {
         rename_port(life);
         life.service.spec.ports[0].target_port = "http";
       }},
      {"one slice has followed, the other not yet",
       [](Life& life) {
         retarget_port(life);
         auto other = life.slices[0];
         slices_follow(life);
         other.name = "web-2";
         other.endpoints = {{.address = ip("10.244.1.9"), .node = "kind-worker"}};
         life.slices.push_back(other);
       }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    auto life = settled();
    const auto before = life.service.status;
    const auto serving_since = life.since(kServingCondition);
    c.change(life);

    const auto announced = life.step();
    CHECK_FALSE(announced.apply.has_value());
    const auto waiting = life.step();
    CHECK(waiting.empty());  // what is served stays as it is
    CHECK(waiting.again.has_value());
    CHECK(life.serving() == "True/Serving");
    CHECK(life.provisioning() == "True/Provisioning");
    CHECK(life.service.status.ingress == before.ingress);
    CHECK(life.since(kServingCondition) == serving_since);

    slices_follow(life);
    life.settle();
    CHECK(life.serving() == "True/Serving");
    CHECK(life.provisioning() == "False/Complete");
    CHECK(life.since(kServingCondition) > serving_since);
    CHECK(life.service.status.ingress[0].ports.size() == life.service.spec.ports.size());
    CHECK(life.plan().empty());
  }
}

TEST_CASE("a new target port is served once its EndpointSlices have it and it has answered") {
  auto life = settled();
  const auto serving_since = life.since(kServingCondition);
  retarget_port(life);
  life.step();
  slices_follow(life);
  const auto apply = life.step();
  REQUIRE(apply.probes.size() == 1);
  CHECK(apply.probes[0].targets[0].port == 9090);
  CHECK(life.since(kServingCondition) == serving_since);
  life.proxy_confirms(apply);
  life.step();
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.since(kServingCondition) > serving_since);
}

TEST_CASE("what need not be waited for is served at once") {
  struct Case {
    const char* name;
    std::function<void(Life&)> change;
  };
  const Case cases[] = {
      {"slices made by hand may have any number",
       [](Life& life) {
         life.slices[0].by_controller = false;
         retarget_port(life);
       }},
      {"no selector: nobody updates the slices",
       [](Life& life) {
         life.service.spec.has_selector = false;
         rename_port(life);
       }},
      {"nobody is ready",
       [](Life& life) {
         for (auto& endpoint : life.slices[0].endpoints) endpoint.ready = false;
         rename_port(life);
       }},
      {"a named target that only some pods have",
       [](Life& life) {
         add_named_port(life);
         auto other = life.slices[0];
         other.name = "web-2";
         other.ports.push_back({"extra", Protocol::Tcp, 9000});
         life.slices.push_back(other);
       }},
      {"a name in place of a number, which cannot be compared",
       [](Life& life) { life.service.spec.ports[0].target_port = "http"; }},
      {"a removed port",
       [](Life& life) { life.service.spec.ports.erase(life.service.spec.ports.begin()); }},
      {"a port that is not served anyway",
       [](Life& life) {
         life.service.spec.ports.push_back(
             {.name = "sctp", .protocol = Protocol::Sctp, .port = 9, .target_port = "9"});
       }},
      {"the order of ports",
       [](Life& life) { std::swap(life.service.spec.ports[0], life.service.spec.ports[1]); }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    auto life = settled(a_service().with_port(80).with_port(443));
    c.change(life);
    life.settle();
    CHECK(life.serving() == "True/Serving");
    CHECK(life.provisioning() == "False/Complete");
    CHECK_FALSE(mentions(life.message(), "EndpointSlice"));
  }
}

TEST_CASE("slices that do not follow in time: the previous specification stays, with the reason") {
  struct Case {
    const char* name;
    std::function<void(Life&)> change;
    const char* text;
  };
  const Case cases[] = {
      {"renamed", rename_port, "none has port TCP/80 (name \"web\", targetPort 8080)"},
      {"retargeted", retarget_port,
       "port TCP/80 (name \"p80\", targetPort 9090) still has number 8080 in them"},
      {"renamed, with a named target",
       [](Life& life) {
         rename_port(life);
         life.service.spec.ports[0].target_port = "http";
       },
       "none has port TCP/80 (name \"web\", targetPort http)"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    auto life = settled();
    const auto ingress = life.service.status.ingress;
    c.change(life);
    const auto late = wait_until(life, milliseconds(0));
    CHECK_FALSE(late.apply.has_value());
    CHECK_FALSE(late.again.has_value());
    CHECK(life.serving() == "True/Serving");
    CHECK(life.provisioning() == "True/Provisioning");
    CHECK(mentions(life.message(), "Still serving the previous specification"));
    CHECK(mentions(life.message(), c.text));
    CHECK(mentions(life.message(), "kube-controller-manager"));
    CHECK(life.service.status.ingress == ingress);
    CHECK(life.plan().empty());

    slices_follow(life);
    life.settle();
    CHECK(life.provisioning() == "False/Complete");
    CHECK_FALSE(mentions(life.message(), "EndpointSlice"));
  }
}

TEST_CASE("a named target that no pod has is open after a while, with nobody behind it") {
  auto life = settled();
  add_named_port(life);
  CHECK(wait_until(life, milliseconds(1)).empty());
  CHECK(life.provisioning() == "True/Provisioning");
  life.age = kSliceGrace;
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(mentions(life.message(), "TCP/81"));
  CHECK(mentions(life.message(),
                 "no EndpointSlice had port TCP/81 (name \"extra\", targetPort http)"));
}

TEST_CASE("a new Service whose slices describe an earlier spec waits for them") {
  Life life;
  rename_port(life);
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step());
  CHECK(life.step().empty());
  CHECK(life.serving() == "False/Provisioning");
  SUBCASE("they follow") {
    slices_follow(life);
    const auto apply = life.step();
    CHECK(apply.probes.size() == 1);
    life.proxy_confirms(apply);
    life.step();
    CHECK(life.serving() == "True/Serving");
  }
  SUBCASE("they do not follow") {
    life.age = kSliceGrace;
    life.step();
    CHECK(life.serving() == "False/Infrastructure");
    CHECK(mentions(life.message(), "none has port TCP/80"));
    CHECK(life.plan().empty());
  }
}

TEST_CASE("through node ports a change waits for its EndpointSlices as well") {
  // kube-proxy forwards by the same slices: a renamed port has no endpoints there either.
  auto life = settled(a_service().with_port(80).annotated("kindlb.dev/datapath", "nodeport"));
  rename_port(life);
  life.step();
  CHECK(life.provisioning() == "True/Provisioning");
  slices_follow(life);
  life.settle();
  CHECK(life.provisioning() == "False/Complete");
}

TEST_CASE("a restart neither ends nor begins the wait for EndpointSlices") {
  SUBCASE("a served Service is left alone, whatever its slices have") {
    auto life = settled();
    add_named_port(life);
    wait_until(life, milliseconds(0));
    life.settle();
    life.slices[0].ports.clear();
    life.settle();
    life.kindlb_restarts();
    CHECK(life.plan().empty());
  }
  SUBCASE("time that has passed stays passed") {
    auto life = settled();
    rename_port(life);
    wait_until(life, milliseconds(0));
    const auto message = life.message();
    life.now += kSliceGrace.count() / 1000 * std::chrono::seconds(1);
    life.kindlb_restarts();
    CHECK(life.plan().empty());
    CHECK(life.message() == message);
  }
  SUBCASE("a new version that hashes more of the spec finds it settled") {
    auto life = settled();
    add_named_port(life);
    wait_until(life, milliseconds(0));
    life.settle();
    const auto serving_since = life.since(kServingCondition);
    life.annotate("kindlb.dev/note", "as good as another field");
    life.kindlb_restarts();
    life.step();
    CHECK(life.provisioning() == "False/Complete");
    CHECK(life.since(kServingCondition) == serving_since);
    CHECK(life.plan().empty());
  }
}

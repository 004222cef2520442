#include "kindlb/proxy/containers.hpp"

#include "support/fakes/fake_docker.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using namespace kindlb;
using core::ErrorKind;
using testing::FakeEngine;

proxy::CreateOptions options() {
  return {.image = "kindlb-proxy:beef",
          .network = "kind",
          .uid = 200'007,
          .tag = "0123abcd",
          .pool = "mine"};
}

struct World {
  World() {
    engine.images().add("kindlb-proxy:beef");
    engine.networks().add({.name = "kind"});
  }
  bool nothing_left() {
    return engine.containers().list({})->empty() && engine.volumes().list({})->empty();
  }
  FakeEngine engine;
};

}  // namespace

TEST_CASE("a proxy container has no more rights than it needs") {
  const auto spec = proxy::container_spec(options());
  CHECK(spec.capabilities_drop == std::vector<std::string>{"ALL"});
  CHECK(spec.capabilities_add ==
        std::vector<std::string>{"NET_ADMIN", "SETUID", "SETGID", "CHOWN", "KILL"});
  CHECK(spec.no_new_privileges);
  CHECK(spec.read_only_root);
  CHECK(spec.memory_bytes == 256 * 1024 * 1024);
  CHECK(spec.pids_limit == 64);
  CHECK(spec.environment == std::vector<std::string>{"KINDLB_ENVOY_UID=200007"});
  CHECK(spec.sysctls.at("net.ipv4.ip_unprivileged_port_start") == "0");
  REQUIRE(spec.volumes.size() == 1);
  CHECK(spec.volumes[0].volume == "kindlb-0123abcd");
  CHECK(spec.volumes[0].path == protocol::kStateDir);
}

TEST_CASE("IPv6 sysctls are set only where the network has IPv6") {
  auto requested = options();
  const auto has_v6 = [](const docker::ContainerSpec& spec) {
    return std::ranges::any_of(spec.sysctls,
                               [](const auto& s) { return s.first.starts_with("net.ipv6"); });
  };
  CHECK_FALSE(has_v6(proxy::container_spec(requested)));
  requested.ipv6 = true;
  CHECK(has_v6(proxy::container_spec(requested)));
}

TEST_CASE("labels give back what they were made from") {
  const auto spec = proxy::container_spec(options());
  const auto parsed = proxy::parse_proxy({.id = "x",
                                          .name = spec.name,
                                          .state = docker::ContainerState::Exited,
                                          .labels = spec.labels});
  REQUIRE(parsed);
  CHECK(parsed->id == "x");
  CHECK(parsed->role == proxy::ProxyName{proxy::Role::Warm, "0123abcd", "", 0});
  CHECK(parsed->state == docker::ContainerState::Exited);
  CHECK(parsed->network == "kind");
  CHECK(parsed->uid == 200'007);
  CHECK(parsed->agent == "beef");
  CHECK(parsed->volume == "kindlb-0123abcd");
  CHECK(parsed->pool == "mine");
}

TEST_CASE("containers without our label are ignored, and malformed labels tolerated") {
  CHECK_FALSE(proxy::parse_proxy({.id = "x", .name = "kindlb-warm-0123abcd"}));
  CHECK_FALSE(proxy::parse_proxy({.id = "x", .labels = {{proxy::kProxyLabel, "2"}}}));
  for (const char* uid : {"", "x", "1x", "-1", "99999999999"}) {
    SUBCASE(uid) {
      const auto parsed = proxy::parse_proxy(
          {.id = "x", .labels = {{proxy::kProxyLabel, "1"}, {proxy::kUidLabel, uid}}});
      REQUIRE(parsed);
      CHECK(parsed->uid == 0);
      CHECK_FALSE(parsed->role);
    }
  }
}

TEST_CASE("the smallest free uid is chosen") {
  struct Case {
    const char* name;
    std::set<std::uint32_t> in_use;
    std::uint32_t want;
  };
  const Case cases[] = {
      {"none in use", {}, 200'000},
      {"foreign ones do not matter", {0, 101, 199'999}, 200'000},
      {"the next", {200'000, 200'001}, 200'002},
      {"a gap", {200'000, 200'002, 200'003}, 200'001},
      {"the first is free", {200'001}, 200'000},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(proxy::choose_uid(c.in_use) == c.want);
    }
  }
}

TEST_CASE_FIXTURE(World, "a created proxy runs, is listed, and goes without a trace") {
  const auto made = proxy::create_proxy(engine.containers(), engine.volumes(), options());
  REQUIRE(made.ok());
  CHECK(made->state == docker::ContainerState::Running);
  const auto listed = proxy::list_proxies(engine.containers());
  REQUIRE(listed->size() == 1);
  CHECK(listed->at(0).id == made->id);
  CHECK(listed->at(0).uid == 200'007);
  CHECK(engine.containers().find(made->id)->state == docker::ContainerState::Running);
  CHECK(engine.volumes().list({"kindlb.dev/proxy=1"})->size() == 1);
  CHECK(proxy::remove_proxy(engine.containers(), engine.volumes(), *made).ok());
  CHECK(nothing_left());
}

TEST_CASE_FIXTURE(World, "a failure anywhere leaves nothing behind") {
  for (const char* operation : {"create_volume", "create_container", "start_container"}) {
    SUBCASE(operation) {
      engine.calls().fail_next(operation, {ErrorKind::Unavailable, operation, "no"});
      const auto made = proxy::create_proxy(engine.containers(), engine.volumes(), options());
      REQUIRE_FALSE(made.ok());
      CHECK(made.error().operation == operation);
      CHECK(nothing_left());
    }
  }
}

TEST_CASE_FIXTURE(World, "removing what is gone succeeds, and an engine's failure is reported") {
  const auto made = *proxy::create_proxy(engine.containers(), engine.volumes(), options());
  engine.calls().fail_next("remove_container", {ErrorKind::Unavailable, "remove_container", "no"});
  CHECK(proxy::remove_proxy(engine.containers(), engine.volumes(), made).error().kind ==
        ErrorKind::Unavailable);
  engine.containers().vanish(made.id);
  CHECK(proxy::remove_proxy(engine.containers(), engine.volumes(), made).ok());
  CHECK(proxy::remove_proxy(engine.containers(), engine.volumes(), made).ok());
  CHECK(nothing_left());
}

TEST_CASE_FIXTURE(World, "a volume we did not name is never removed") {
  REQUIRE(engine.volumes().create({.name = "precious", .labels = {}}).ok());
  const auto id = engine.containers().add(
      {.name = "x", .image = "kindlb-proxy:beef", .labels = {{proxy::kProxyLabel, "1"}}});
  CHECK(proxy::remove_proxy(engine.containers(), engine.volumes(), {.id = id, .volume = "precious"})
            .ok());
  CHECK(engine.volumes().list({})->size() == 1);
}

TEST_CASE_FIXTURE(World, "a stopped proxy is started again") {
  const auto made = *proxy::create_proxy(engine.containers(), engine.volumes(), options());
  engine.containers().die(made.id);
  CHECK(proxy::list_proxies(engine.containers())->at(0).state == docker::ContainerState::Exited);
  CHECK(proxy::start_proxy(engine.containers(), made).ok());
  CHECK(engine.containers().find(made.id)->state == docker::ContainerState::Running);
}

TEST_CASE_FIXTURE(World, "the agent's state is read, and refused when malformed") {
  const auto made = *proxy::create_proxy(engine.containers(), engine.volumes(), options());
  CHECK(proxy::read_state(engine.files(), made.id).error().kind == ErrorKind::NotFound);
  engine.files().set(made.id, protocol::kStateFile, "{]");
  CHECK(proxy::read_state(engine.files(), made.id).error().kind == ErrorKind::Protocol);
  const protocol::AgentState state{.agent = "1",
                                   .envoy = protocol::EnvoyState::Live,
                                   .units = {{.unit = "u", .owner = "kind/default/web"}}};
  engine.files().set(made.id, protocol::kStateFile, protocol::encode_state(state));
  const auto read = proxy::read_state(engine.files(), made.id);
  REQUIRE(read.ok());
  CHECK(read->envoy == protocol::EnvoyState::Live);
  CHECK(read->units == state.units);
}

TEST_CASE_FIXTURE(World, "the agent is reached by its own connect command") {
  const auto made = *proxy::create_proxy(engine.containers(), engine.volumes(), options());
  std::vector<std::string> ran;
  engine.execs().on_start([&](const docker::Container&, const FakeEngine::Strings& command) {
    ran = command;
    return core::Result<docker::ExecStream>(core::Error{ErrorKind::Unavailable, "exec", "no"});
  });
  CHECK_FALSE(proxy::connect_agent(engine.execs(), made.id).ok());
  CHECK(ran == std::vector<std::string>{protocol::kAgentPath, "connect"});
}

TEST_CASE_FIXTURE(World, "what keeps a proxy from serving is seen when it is inspected") {
  const auto id = proxy::create_proxy(engine.containers(), engine.volumes(), options())->id;
  const auto look = [&] { return *proxy::inspect_proxy(engine.containers(), id); };
  const auto as_created = look();
  CHECK(as_created.proxy.state == docker::ContainerState::Running);
  CHECK(as_created.proxy.attached);
  CHECK_FALSE(as_created.suspended);
  SUBCASE("paused") {
    engine.containers().pause(id);
    CHECK(look().proxy.state == docker::ContainerState::Paused);
    CHECK(proxy::list_proxies(engine.containers())->front().state ==
          docker::ContainerState::Paused);
    CHECK(engine.calls().count("list_processes") == 1);  // of the first look: paused is enough
  }
  SUBCASE("disconnected from its network") {
    engine.containers().disconnect(id);
    CHECK_FALSE(look().proxy.attached);
    CHECK_FALSE(proxy::list_proxies(engine.containers())->front().attached);
  }
  SUBCASE("stopped by a signal") {
    engine.containers().set_process_state(id, "Tsl");
    CHECK(look().suspended);
  }
  SUBCASE("busy") {
    engine.containers().set_process_state(id, "D");
    CHECK_FALSE(look().suspended);
  }
  SUBCASE("on an engine that cannot list processes") {
    engine.containers().set_process_state(id, "T");
    engine.calls().fail_next("list_processes", {ErrorKind::Invalid, "top", "no ps"});
    CHECK_FALSE(look().suspended);
  }
}

TEST_CASE_FIXTURE(World, "only proxies are inspected") {
  const auto id = engine.containers().add({.name = "other", .image = "x"});
  CHECK(proxy::inspect_proxy(engine.containers(), id).error().kind == ErrorKind::NotFound);
  CHECK(proxy::inspect_proxy(engine.containers(), "gone").error().kind == ErrorKind::NotFound);
}

TEST_CASE("a volume without a proxy is an orphan, unless it is another's or about to get one") {
  const auto volume = [](const std::string& name, const std::string& pool) {
    docker::Volume out{.name = name, .labels = {{proxy::kProxyLabel, "1"}}};
    if (!pool.empty()) out.labels.emplace(proxy::kPoolLabel, pool);
    return out;
  };
  const std::vector volumes = {
      volume("kindlb-00000001", "mine"), volume("kindlb-00000002", "mine"),
      volume("kindlb-00000003", "mine"), volume("kindlb-00000004", "theirs"),
      volume("kindlb-00000005", ""),     volume("precious", "mine")};
  const std::vector<proxy::Proxy> proxies = {{.id = "a", .volume = "kindlb-00000001"}};
  CHECK(proxy::orphaned_volumes(volumes, proxies, {"kindlb-00000002"}, "mine") ==
        std::vector<std::string>{"kindlb-00000003", "kindlb-00000005"});
}

TEST_CASE("a volume names the pool of its proxy") {
  World world;
  REQUIRE(proxy::create_proxy(world.engine.containers(), world.engine.volumes(), options()));
  const auto volumes = world.engine.volumes().list({});
  REQUIRE(volumes->size() == 1);
  CHECK(volumes->front().labels.at(proxy::kPoolLabel) == "mine");
}

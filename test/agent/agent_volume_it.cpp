// A proxy whose volume is full, or whose files somebody has damaged.
#include "agent/it_world.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

using namespace kindlb;
using namespace kindlb::agent::it;
using protocol::Applied;
using protocol::EnvoyState;
using protocol::Hello;
using protocol::Rejected;
using protocol::Status;
using std::chrono::seconds;

using Answer = std::optional<std::string>;

namespace {

/// The agent's state directory, as the host sees it.
std::filesystem::path state_of(const Proxy& proxy) {
  return "/proc/" + std::to_string(proxy.pid()) + "/root" + protocol::kStateDir;
}

void damage(const std::filesystem::path& file) {
  std::ofstream(file, std::ios::trunc) << R"({"version_info":"9","resources":[{"@type")";
}

/// Write until nothing more fits, down to the last byte.
void fill(const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  const std::string block(4096, 'x');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
  out.clear();
  while (out.put('x').flush()) {
  }
}

void await_live(Channel& channel) {
  while (channel.expect<Status>().envoy != EnvoyState::Live) {
  }
}

}  // namespace

TEST_CASE("on a full volume the old configuration serves, and changes work when there is space") {
  const Proxy proxy("no-new-privileges", "--tmpfs=/var/lib/kindlb:size=256k");
  const Peer one("one");
  const Peer two("two");
  const auto address = World::get().new_address();
  const auto web = [&](const Peer& peer, const std::string& revision) {
    return UnitOptions{
        .unit = "web", .address = address, .endpoint = backend_of(peer), .revision = revision};
  };
  auto channel = ready_channel(proxy);
  channel->send(an_apply(1, web(one, "r1")));
  channel->expect<Applied>();
  fill(state_of(proxy) / "filler");

  channel->send(an_apply(2, web(two, "r2")));
  const auto rejected = channel->expect<Rejected>();
  CHECK(rejected.id == 2);
  CHECK(rejected.text.find("the proxy's volume is full") != std::string::npos);
  CHECK(rejected.text.find("free disk space") != std::string::npos);
  CHECK(one.fetch(address.address, 80, 1000) == Answer("one"));

  REQUIRE(::kill(proxy.envoy_pid(), SIGKILL) == 0);
  await_live(*channel);
  CHECK(one.fetch(address.address, 80, 1000) == Answer("one"));

  std::filesystem::remove(state_of(proxy) / "filler");
  channel->send(an_apply(3, web(two, "r3")));
  CHECK(channel->expect<Applied>().id == 3);
  CHECK(one.fetch(address.address, 80, 1000) == Answer("two"));
  CHECK(wait_until(
      [&] {
        std::ifstream file(state_of(proxy) / "state.json");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        return text.find("\"r3\"") != std::string::npos;
      },
      seconds(10)));
}

TEST_CASE("damaged files change nothing that serves, also when Envoy restarts") {
  const Proxy proxy;
  const Peer one("one");
  const auto address = World::get().new_address();
  const UnitOptions web{.unit = "web", .address = address, .endpoint = backend_of(one)};
  auto channel = ready_channel(proxy);
  channel->send(an_apply(1, web));
  channel->expect<Applied>();
  const auto state = state_of(proxy);
  for (const auto* file : {"state.json", "xds/lds.json", "xds/cds.json", "xds/eds/eds-web.json"})
    damage(state / file);
  CHECK(one.fetch(address.address, 80, 1000) == Answer("one"));
  REQUIRE(::kill(proxy.envoy_pid(), SIGKILL) == 0);
  await_live(*channel);
  CHECK(one.fetch(address.address, 80, 1000) == Answer("one"));
}

TEST_CASE("a stored unit that is damaged is not held after a restart, and can be applied again") {
  const Proxy proxy;
  const Peer one("one");
  const auto address = World::get().new_address();
  const auto other = World::get().new_address();
  const UnitOptions web{.unit = "web", .address = address, .endpoint = backend_of(one)};
  {
    auto channel = ready_channel(proxy);
    channel->send(an_apply(1, web));
    channel->expect<Applied>();
    channel->send(an_apply(2, {.unit = "api", .address = other, .endpoint = backend_of(one)}));
    channel->expect<Applied>();
  }
  damage(state_of(proxy) / "units/web.json");
  damage(state_of(proxy) / "xds/lds.json");
  must_run({"docker", "restart", "-t", "5", proxy.name()});
  Channel hello(proxy);
  const auto units = hello.expect<Hello>().units;
  REQUIRE(units.size() == 1);
  CHECK(units[0].unit == "api");
  auto channel = ready_channel(proxy);
  channel->send(an_apply(3, web));
  CHECK(channel->expect<Applied>().id == 3);
  CHECK(one.fetch(address.address, 80, 1000) == Answer("one"));
  CHECK(one.fetch(other.address, 80, 1000) == Answer("one"));
}

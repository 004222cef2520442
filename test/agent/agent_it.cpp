// The real agent with the real Envoy in a real container, driven as kindlb drives it.
#include "agent/it_world.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent::it;
using protocol::Applied;
using protocol::Apply;
using protocol::EnvoyState;
using protocol::Hello;
using protocol::ProbeResult;
using protocol::Rejected;
using protocol::RejectStage;
using protocol::Release;
using protocol::Status;
using std::chrono::milliseconds;

using Answer = std::optional<std::string>;

TEST_CASE("a unit is served from the moment it is applied until it is released") {
  const Proxy proxy;
  const Peer one("one");
  const Peer two("two");
  const auto address = World::get().new_address();
  auto channel = ready_channel(proxy);
  UnitOptions web{.unit = "web", .address = address, .endpoint = backend_of(one)};

  channel->send(an_apply(1, web));
  const auto applied = channel->expect<Applied>();
  CHECK(applied.id == 1);
  CHECK(applied.unit == "web");
  CHECK(applied.revision == "r1");
  REQUIRE(applied.probes.size() == 1);
  CHECK(applied.probes[0].result == ProbeResult::Reached);
  CHECK(two.fetch(address.address, 80, 1000) == Answer("one"));

  SUBCASE("an endpoint change takes effect before it is answered") {
    web.endpoint = backend_of(two);
    web.revision = "r2";
    channel->send(an_apply(2, web));
    CHECK(channel->expect<Applied>().revision == "r2");
    CHECK(two.fetch(address.address, 80, 1000) == Answer("two"));
  }
  SUBCASE("applying the same again changes nothing") {
    channel->send(an_apply(2, web));
    CHECK(channel->expect<Applied>().id == 2);
    CHECK(two.fetch(address.address, 80, 1000) == Answer("one"));
  }
  SUBCASE("a released unit can be applied again") {
    channel->send(Release{.id = 2, .unit = "web"});
    CHECK(channel->expect<Applied>().id == 2);
    CHECK(two.fetch(address.address, 80, 300) == std::nullopt);
    channel->send(an_apply(3, web));
    CHECK(channel->expect<Applied>().id == 3);
    CHECK(two.fetch(address.address, 80, 1000) == Answer("one"));
  }
  SUBCASE("a second client is told about it") {
    Channel other(proxy);
    const auto hello = other.expect<Hello>();
    CHECK(hello.protocol == protocol::kProtocolVersion);
    REQUIRE(hello.units.size() == 1);
    CHECK(hello.units[0].acknowledged);
    CHECK(hello.units[0].addresses == std::vector{address});
  }
}

TEST_CASE("a rejected unit gets Envoy's own reason, and its predecessor keeps serving") {
  const Proxy proxy;
  const Peer one("one");
  const auto address = World::get().new_address();
  auto channel = ready_channel(proxy);
  const UnitOptions good{.unit = "web", .address = address, .endpoint = backend_of(one)};
  channel->send(an_apply(1, good));
  channel->expect<Applied>();

  struct Case {
    const char* name;
    void (*spoil)(UnitOptions&);
    const char* text;
  };
  const Case cases[] = {
      {"bind", [](UnitOptions& o) { o.bind = "192.0.2.1"; },
       "cannot bind '192.0.2.1:80': Cannot assign requested address"},
      {"cluster", [](UnitOptions& o) { o.cluster_fields = R"(,"lb_policy":"CLUSTER_PROVIDED")"; },
       "cluster manager: cluster provided LB specified"},
      {"endpoints", [](UnitOptions& o) { o.endpoint_address = "nowhere"; },
       "malformed IP address: nowhere"},
      {"unknown field", [](UnitOptions& o) { o.listener_fields = R"(,"nonsense":1)"; },
       "Protobuf message (type envoy.service.discovery.v3.DiscoveryResponse"},
  };
  std::uint64_t id = 1;
  for (const auto& c : cases) {
    CAPTURE(c.name);
    UnitOptions bad = good;
    bad.revision = "r2";
    c.spoil(bad);
    channel->send(an_apply(++id, bad));
    const auto rejected = channel->expect<Rejected>();
    CHECK(rejected.id == id);
    CHECK(rejected.stage == RejectStage::Envoy);
    CHECK(rejected.text.substr(0, std::string(c.text).size()) == c.text);
    CHECK(one.fetch(address.address, 80, 1000) == Answer("one"));
    Channel other(proxy);
    const auto hello = other.expect<Hello>();
    REQUIRE(hello.units.size() == 1);
    CHECK(hello.units[0].revision == "r1");
    CHECK(hello.units[0].acknowledged);
  }
  channel->send(an_apply(99, good));
  CHECK(channel->expect<Applied>().id == 99);
}

TEST_CASE("a rejected unit without a predecessor leaves nothing behind") {
  const Proxy proxy;
  const Peer one("one");
  const auto address = World::get().new_address();
  auto channel = ready_channel(proxy);
  channel->send(an_apply(
      1, {.unit = "web", .address = address, .endpoint = backend_of(one), .bind = "192.0.2.1"}));
  CHECK(channel->expect<Rejected>().stage == RejectStage::Envoy);
  Channel other(proxy);
  CHECK(other.expect<Hello>().units.empty());
  const Proxy next;  // the address is free again
  auto elsewhere = ready_channel(next);
  elsewhere->send(an_apply(1, {.unit = "web", .address = address, .endpoint = backend_of(one)}));
  CHECK(elsewhere->expect<Applied>().id == 1);
}

TEST_CASE("one rejected unit does not affect others") {
  const Proxy proxy;
  const Peer one("one");
  auto channel = ready_channel(proxy);
  const auto good = World::get().new_address();
  const auto bad = World::get().new_address();
  channel->send(protocol::Prepare{.id = 1, .addresses = {good, bad}});
  CHECK(channel->expect<Applied>().id == 1);
  // Both arrive before Envoy has seen either, so they share an update at first.
  channel->send_line(protocol::encode(an_apply(2, {.unit = "bad",
                                                   .address = bad,
                                                   .endpoint = backend_of(one),
                                                   .listener_fields = R"(,"nonsense":1)"})) +
                     protocol::encode(an_apply(
                         3, {.unit = "good", .address = good, .endpoint = backend_of(one)})));
  const auto rejected = channel->expect<Rejected>();
  CHECK(rejected.id == 2);
  CHECK(rejected.stage == RejectStage::Envoy);
  CHECK(channel->expect<Applied>().id == 3);
  CHECK(one.fetch(good.address, 80, 1000) == Answer("one"));
  const auto third = World::get().new_address();
  channel->send(an_apply(4, {.unit = "third", .address = third, .endpoint = backend_of(one)}));
  CHECK(channel->expect<Applied>().id == 4);
  CHECK(one.fetch(third.address, 80, 1000) == Answer("one"));
  CHECK(one.fetch(good.address, 80, 1000) == Answer("one"));
}

TEST_CASE("an address in use is not taken") {
  const Proxy proxy;
  const Peer holder("holder");
  auto channel = ready_channel(proxy);
  for (const auto family : {core::IpFamily::V4, core::IpFamily::V6}) {
    CAPTURE(std::string(core::name_of(family)));
    const core::Cidr taken{holder.address(family), World::get().new_address(family).length};
    channel->send(an_apply(1, {.unit = "web", .address = taken, .endpoint = backend_of(holder)}));
    const auto rejected = channel->expect<Rejected>();
    CHECK(rejected.stage == RejectStage::Address);
    CHECK(rejected.text.starts_with(taken.address.text() + " is in use by "));
    channel->send(protocol::Prepare{.id = 2, .addresses = {taken}});
    CHECK(channel->expect<Rejected>().id == 2);
  }
  const auto outside = core::Cidr::parse("192.0.2.9/24").value();
  channel->send(an_apply(3, {.unit = "web", .address = outside, .endpoint = backend_of(holder)}));
  CHECK(channel->expect<Rejected>().stage == RejectStage::Address);
}

TEST_CASE("probes tell refused from unreachable") {
  const Proxy proxy;
  const Peer one("one");
  auto channel = ready_channel(proxy);
  auto apply = an_apply(
      1, {.unit = "web", .address = World::get().new_address(), .endpoint = {one.address(), 8081}});
  apply.probes = {{"closed", {{one.address(), 8081}}},
                  {"one of two", {{one.address(), 8081}, {one.address(), 8080}}},
                  {"nobody", {{World::get().new_address().address, 80}}},
                  {"none", {}}};
  apply.probe_timeout = milliseconds(2000);
  channel->send(apply);
  const auto probes = channel->expect<Applied>().probes;
  REQUIRE(probes.size() == 4);
  CHECK(probes[0].result == ProbeResult::Refused);
  CHECK(probes[0].detail == one.address().text() + ":8081: Connection refused");
  CHECK(probes[1].result == ProbeResult::Reached);
  CHECK(probes[2].result == ProbeResult::Unreachable);
  CHECK(probes[3].result == ProbeResult::Unreachable);
}

TEST_CASE("a UDP port is proven by any answer of its host, and by nothing less") {
  const Proxy proxy;
  const auto pod = *core::IpAddress::parse("10.199.7.4");
  const Peer node("node", core::Cidr::host(pod).text());
  auto channel = ready_channel(proxy);
  auto apply = an_apply(
      1, {.unit = "dns", .address = World::get().new_address(), .endpoint = {pod, 53}});
  apply.unit.routes = {{core::Cidr::host(pod), node.address()}};

  SUBCASE("it refuses, which is told at once") {
    apply.probes = {{"UDP/53/v4", {{pod, 53}}, true}};
    apply.probe_timeout = std::chrono::seconds(60);  // longer than expect() waits
    channel->send(apply);
    CHECK(channel->expect<Applied>().probes.at(0).result == ProbeResult::Reached);
  }
  SUBCASE("nobody answers") {
    apply.probes = {{"UDP/53/v4", {{World::get().new_address().address, 53}}, true}};
    apply.probe_timeout = milliseconds(1000);
    channel->send(apply);
    CHECK(channel->expect<Applied>().probes.at(0).result == ProbeResult::Unreachable);
  }
}

TEST_CASE("a newer message for the unit supersedes one that is still being probed") {
  const Proxy proxy;
  const Peer one("one");
  auto channel = ready_channel(proxy);
  UnitOptions web{
      .unit = "web", .address = World::get().new_address(), .endpoint = {one.address(), 8081}};
  auto slow = an_apply(1, web);
  slow.probe_timeout = std::chrono::seconds(30);
  channel->send(slow);
  web.endpoint = backend_of(one);
  web.revision = "r2";
  channel->send(an_apply(2, web));
  const auto rejected = channel->expect<Rejected>();
  CHECK(rejected.id == 1);
  CHECK(rejected.stage == RejectStage::Superseded);
  CHECK(channel->expect<Applied>().id == 2);
  CHECK(one.fetch(web.address.address, 80, 1000) == Answer("one"));
}

TEST_CASE("bad routes and bad messages are rejected without harm") {
  const Proxy proxy;
  const Peer one("one");
  auto channel = ready_channel(proxy);
  const UnitOptions web{
      .unit = "web", .address = World::get().new_address(), .endpoint = backend_of(one)};

  auto unreachable = an_apply(1, web);
  unreachable.unit.routes = {
      {*core::Cidr::parse("10.78.0.0/24"), *core::IpAddress::parse("192.0.2.1")}};
  channel->send(unreachable);
  CHECK(channel->expect<Rejected>().stage == RejectStage::Route);

  auto stolen = an_apply(2, web);  // the container's own default route
  stolen.unit.routes = {{*core::Cidr::parse("0.0.0.0/0"), one.address()}};
  channel->send(stolen);
  CHECK(channel->expect<Rejected>().stage == RejectStage::Route);

  auto traversal = an_apply(3, web);
  traversal.unit.assignments[0].file = "../../state.json";
  channel->send(traversal);
  CHECK(channel->expect<Rejected>().stage == RejectStage::Invalid);

  channel->send_line("nonsense\n{\"type\":\"dance\",\"id\":4}\n{\"type\":\"apply\",\"id\":5}\n");
  const auto rejected = channel->expect<Rejected>();
  CHECK(rejected.id == 5);
  CHECK(rejected.stage == RejectStage::Invalid);

  channel->send(an_apply(6, web));
  CHECK(channel->expect<Applied>().id == 6);

  channel->send_line(std::string(protocol::kMaxLine + 2, 'x') + "\n");
  CHECK(channel->expect<Rejected>().stage == RejectStage::Invalid);
  CHECK(channel->is_closed(std::chrono::seconds(5)));
  CHECK(one.fetch(web.address.address, 80, 1000) == Answer("one"));
}

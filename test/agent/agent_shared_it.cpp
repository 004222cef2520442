// Many units in one proxy: what they share, and what bounds them.
#include "agent/it_world.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

using namespace kindlb;
using namespace kindlb::agent::it;
using protocol::Applied;
using protocol::Hello;
using protocol::Rejected;
using protocol::RejectStage;
using protocol::Release;

using Answer = std::optional<std::string>;

namespace {

/// How many inotify instances the kernel allows a uid.
std::size_t instances_allowed() {
  std::ifstream file("/proc/sys/fs/inotify/max_user_instances");
  std::size_t out = 0;
  file >> out;
  return out;
}

/// `count` units of one cluster each, all different.
std::vector<UnitOptions> many(std::size_t count, const core::Target& endpoint) {
  std::vector<UnitOptions> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({.unit = "u" + std::to_string(i),
                   .address = World::get().new_address(),
                   .endpoint = endpoint});
  return out;
}

/// Sends all at once; return how many were applied, and the text of the last rejection.
std::pair<std::size_t, std::string> apply_all(Channel& channel,
                                              const std::vector<UnitOptions>& units) {
  std::string lines;
  for (std::size_t i = 0; i < units.size(); ++i)
    lines += protocol::encode(an_apply(1000 + i, units[i]));
  channel.send_line(lines);
  std::size_t applied = 0;
  std::string rejection;
  for (std::size_t answers = 0; answers < units.size();) {
    const auto message = channel.next(std::chrono::seconds(30));
    if (std::holds_alternative<Applied>(message)) {
      ++applied;
      ++answers;
    } else if (const auto* rejected = std::get_if<Rejected>(&message)) {
      CHECK(rejected->stage == RejectStage::Invalid);
      rejection = rejected->text;
      ++answers;
    } else {
      REQUIRE_FALSE(std::holds_alternative<protocol::Status>(message));  // Envoy must not die of it
    }
  }
  return {applied, rejection};
}

}  // namespace

TEST_CASE("a route is removed with the last unit that uses it") {
  const Proxy proxy;
  const auto pod = *core::IpAddress::parse("10.199.7.9");
  const Peer node("node", core::Cidr::host(pod).text());
  const Peer client("client");
  auto channel = ready_channel(proxy);
  const UnitOptions first{
      .unit = "a", .address = World::get().new_address(), .endpoint = {pod, 8080}};
  const UnitOptions second{
      .unit = "b", .address = World::get().new_address(), .endpoint = {pod, 8080}};
  std::uint64_t id = 0;
  for (const auto& one : {first, second}) {
    auto apply = an_apply(++id, one);
    apply.unit.routes = {{core::Cidr::host(pod), node.address()}};
    channel->send(apply);
    CHECK(channel->expect<Applied>().probes.at(0).result == protocol::ProbeResult::Reached);
  }
  channel->send(Release{.id = ++id, .unit = "a"});
  CHECK(channel->expect<Applied>().id == id);
  CHECK(client.fetch(first.address.address, 80, 300) == std::nullopt);
  CHECK(client.fetch(second.address.address, 80, 1000) == Answer("node"));
}

TEST_CASE("where units disagree about a route, the newest one wins") {
  const Proxy proxy;
  const auto pod = *core::IpAddress::parse("10.199.7.10");
  const Peer former("former", core::Cidr::host(pod).text());
  const Peer present("present", core::Cidr::host(pod).text());
  const Peer client("client");
  auto channel = ready_channel(proxy);
  // "b" comes after "a" by name and does not know that the pod's address has moved.
  std::uint64_t id = 0;
  const auto apply = [&](const std::string& unit, const core::Cidr& address, const Peer& via) {
    auto message = an_apply(++id, {.unit = unit,
                                   .address = address,
                                   .endpoint = {pod, 8080},
                                   .revision = "r" + std::to_string(id)});
    message.unit.routes = {{core::Cidr::host(pod), via.address()}};
    channel->send(message);
    CHECK(channel->expect<Applied>().id == id);
  };
  const auto a = World::get().new_address();
  const auto b = World::get().new_address();
  apply("a", a, former);
  apply("b", b, former);
  apply("a", a, present);
  CHECK(client.fetch(a.address, 80, 1000) == Answer("present"));
  CHECK(client.fetch(b.address, 80, 1000) == Answer("present"));
}

TEST_CASE("the watch limit is used up and never exceeded") {
  const auto allowed = instances_allowed();
  REQUIRE(allowed > 8);
  // Too many for one test where an administrator has raised the limit.
  if (allowed > 512) return;
  const Proxy proxy;
  const Peer one("one");
  auto channel = ready_channel(proxy);
  {
    Channel other(proxy);
    CHECK(other.expect<Hello>().watches == allowed - protocol::kFixedWatches);
  }
  auto units = many(allowed - protocol::kFixedWatches, backend_of(one));
  CHECK(apply_all(*channel, units).first == units.size());
  CHECK(one.fetch(units.back().address.address, 80, 1000) == Answer("one"));

  auto more = many(1, backend_of(one)).front();
  more.unit = "more";
  const auto [applied, rejection] = apply_all(*channel, {more});
  CHECK(applied == 0);
  CHECK(rejection.find("fs.inotify.max_user_instances") != std::string::npos);
  CHECK(one.fetch(units.back().address.address, 80, 1000) == Answer("one"));

  // A change that does not fit takes nothing away from the one it was for.
  auto exchanged = units.back();
  exchanged.cluster_fields = R"(,"lb_policy":"MAGLEV")";
  exchanged.revision = "r2";
  CHECK(apply_all(*channel, {exchanged}).first == 0);
  const auto is_lost = [&] {
    return one.fetch(units.back().address.address, 80, 1000) != Answer("one");
  };
  CHECK_FALSE(wait_until(is_lost, std::chrono::milliseconds(700)));

  // Endpoints and listeners need no more watches than there are.
  units.back().endpoint.port = 8081;
  units.back().revision = "r2";
  CHECK(apply_all(*channel, {units.back()}).first == 1);
  // With some gone, every cluster can be exchanged for another one, a few at a time.
  std::set<std::uint64_t> answers;
  for (std::uint64_t i = 1; i <= 8; ++i)
    channel->send(Release{.id = i, .unit = units.at(units.size() - i).unit});
  for (std::uint64_t i = 1; i <= 8; ++i) answers.insert(channel->expect<Applied>().id);
  CHECK(answers.size() == 8);
  units.resize(units.size() - 8);
  for (auto& unit : units) {
    unit.cluster_fields = R"(,"lb_policy":"MAGLEV")";
    unit.revision = "r3";
  }
  CHECK(apply_all(*channel, units).first == units.size());
  CHECK(one.fetch(units.back().address.address, 80, 1000) == Answer("one"));
}

#include "kindlb/core/placement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace kindlb::core;

namespace {

using Chosen = std::optional<std::string>;

constexpr std::size_t kCapacity = 126;

ProxyLoad room(const std::string& id, const std::string& cluster, std::size_t services,
               std::size_t watches = 0) {
  return {.id = id,
          .cluster = cluster,
          .network = "kind",
          .services = services,
          .watches = watches == 0 ? services : watches,
          .largest = std::min<std::size_t>(services, 1),
          .capacity = kCapacity};
}

const PlacementRequest kNeed{.cluster = "a", .network = "kind", .watches = 1};

ProxyLoad with(ProxyLoad proxy, void (*change)(ProxyLoad&)) {
  change(proxy);
  return proxy;
}

}  // namespace

TEST_CASE("where a Service goes") {
  struct Case {
    const char* name;
    std::vector<ProxyLoad> proxies;
    PlacementRequest need;
    std::size_t per_proxy;
    Chosen expected;
  };
  const Case cases[] = {
      {"nothing there", {}, kNeed, 0, std::nullopt},
      {"a warm one", {room("w2", "", 0), room("w1", "", 0)}, kNeed, 1, "w1"},
      {"one each: a used one is full", {room("p", "a", 1)}, kNeed, 1, std::nullopt},
      {"one each: rather a warm one", {room("p", "a", 1), room("w", "", 0)}, kNeed, 1, "w"},
      {"shared: rather than a warm one", {room("p", "a", 1), room("w", "", 0)}, kNeed, 0, "p"},
      {"never with another cluster", {room("p", "b", 1)}, kNeed, 0, std::nullopt},
      {"at the limit", {room("p", "a", 3)}, kNeed, 3, std::nullopt},
      {"below the limit", {room("p", "a", 2)}, kNeed, 3, "p"},
      {"the fullest", {room("p1", "a", 2), room("p2", "a", 9)}, kNeed, 0, "p2"},
      {"equally full: by name", {room("p2", "a", 2), room("p1", "a", 2)}, kNeed, 0, "p1"},
      {"no room: the next fullest", {room("p1", "a", 2), room("p2", "a", 120)}, kNeed, 0, "p1"},
      {"the last one that fits", {room("p", "a", 110)}, kNeed, 0, "p"},
      {"the first one that does not", {room("p", "a", 111)}, kNeed, 0, std::nullopt},
      {"another network",
       {with(room("p", "a", 1), [](auto& p) { p.network = "other"; }),
        with(room("w", "", 0), [](auto& p) { p.network = "other"; })},
       kNeed,
       0,
       std::nullopt},
      {"not healthy",
       {with(room("p", "a", 1), [](auto& p) { p.healthy = false; }),
        with(room("w", "", 0), [](auto& p) { p.healthy = false; })},
       kNeed,
       0,
       std::nullopt},
      {"a large one leaves room to change itself",
       {room("p", "a", 20)},
       {.cluster = "a", .network = "kind", .watches = 54},
       0,
       std::nullopt},
      {"a large one that fits",
       {room("p", "a", 20)},
       {.cluster = "a", .network = "kind", .watches = 53},
       0,
       "p"},
      {"a small one leaves room for a large one to change",
       {with(room("p", "a", 2, 64), [](auto& p) { p.largest = 63; })},
       kNeed,
       0,
       std::nullopt},
      {"one too large for any gets its own",
       {room("p", "a", 1), room("w", "", 0)},
       {.cluster = "a", .network = "kind", .watches = 500},
       0,
       "w"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(place(c.proxies, c.need, c.per_proxy) == c.expected);
    auto turned = c.proxies;
    std::reverse(turned.begin(), turned.end());
    CHECK(place(turned, c.need, c.per_proxy) == c.expected);
  }
}

TEST_CASE("how much a Service makes Envoy watch") {
  Service service;
  CHECK(watches_of(service) == 1);
  service.spec.ports.resize(3);
  CHECK(watches_of(service) == 3);
  service.spec.ip_families = {IpFamily::V4, IpFamily::V6};
  CHECK(watches_of(service) == 6);
  service.spec.affinity = Affinity::ClientIp;
  CHECK(watches_of(service) == 6);
  service.spec.ports[1].protocol = Protocol::Udp;
  CHECK(watches_of(service) == 8);
}

TEST_CASE("how much a proxy's configuration makes Envoy watch") {
  ProxyConfig config;
  CHECK(watches_of(config) == 0);
  config.backends.resize(2);
  config.backends[1].protocol = Protocol::Udp;
  CHECK(watches_of(config) == 2);
  for (auto& backend : config.backends) backend.affinity = Affinity::ClientIp;
  CHECK(watches_of(config) == 3);
}

TEST_CASE("whatever comes and goes, no proxy has two clusters, too many Services or too much") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random{seed};
    const auto pick = [&](std::size_t below) { return static_cast<std::size_t>(random()) % below; };
    const std::size_t per_proxy = std::vector<std::size_t>{0, 1, 2, 7}[pick(4)];
    struct Placed {
      std::string proxy;
      PlacementRequest need;
    };
    std::vector<Placed> placed;
    std::size_t made = 0;
    const auto rooms = [&] {
      std::map<std::string, ProxyLoad> out;
      for (const auto& one : placed) {
        auto& proxy = out[one.proxy];
        CHECK((proxy.cluster.empty() || proxy.cluster == one.need.cluster));
        CHECK((proxy.network.empty() || proxy.network == one.need.network));
        proxy.id = one.proxy;
        proxy.cluster = one.need.cluster;
        proxy.network = one.need.network;
        proxy.capacity = kCapacity;
        proxy.services += 1;
        proxy.watches += one.need.watches;
        proxy.largest = std::max(proxy.largest, one.need.watches);
      }
      std::vector<ProxyLoad> list;
      for (const auto& [id, proxy] : out) list.push_back(proxy);
      std::shuffle(list.begin(), list.end(), random);
      return list;
    };
    for (int step = 0; step < 400; ++step) {
      if (!placed.empty() && pick(3) == 0) {
        placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(pick(placed.size())));
        continue;
      }
      const PlacementRequest need{.cluster = pick(2) == 0 ? "a" : "b",
                                  .network = pick(4) == 0 ? "n2" : "n1",
                                  .watches = 1 + pick(pick(10) == 0 ? 60 : 4)};
      const auto now = rooms();
      const auto chosen = place(now, need, per_proxy);
      CHECK(chosen == place(rooms(), need, per_proxy));
      placed.push_back({chosen.value_or("new-" + std::to_string(++made)), need});
    }
    for (const auto& proxy : rooms()) {
      if (per_proxy != 0) CHECK(proxy.services <= per_proxy);
      if (proxy.services > 1) CHECK(proxy.watches + proxy.largest <= kCapacity);
    }
  }
}

TEST_CASE("five hundred small Services need five proxies") {
  std::map<std::string, std::size_t> proxies;
  for (int i = 0; i < 500; ++i) {
    std::vector<ProxyLoad> rooms;
    for (const auto& [id, services] : proxies) rooms.push_back(room(id, "a", services));
    const auto chosen = place(rooms, kNeed, 0);
    ++proxies[chosen.value_or("p" + std::to_string(proxies.size()))];
  }
  CHECK(proxies.size() == 5);
}

// A proxy container's whole life on the real engine, with the real agent and the real Envoy: built,
// created, told to serve, asked over HTTP, restarted, removed.
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/envoy/render.hpp"
#include "kindlb/proxy/channel_hub.hpp"
#include "kindlb/proxy/containers.hpp"
#include "kindlb/proxy/image.hpp"
#include "support/docker_rig.hpp"
#include "support/paths.hpp"
#include "support/traffic/tcp.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

namespace {

using namespace kindlb;
using testing::must;

constexpr std::chrono::seconds kPatience{60};
constexpr const char* kUnit = "3f0c9f56-0000-4000-8000-1f6c5a5d9e01";

/// What the agent said, in order. next<T>() takes the first message of that type that fits.
class Inbox {
 public:
  proxy::ChannelHub::Callbacks callbacks() {
    return {.on_message = [this](const std::string&,
                                 protocol::Message message) { note(std::move(message)); },
            .on_closed = [this](const std::string&,
                                const std::string& reason) { note(protocol::Bye{reason}); }};
  }

  template <typename T>
  T next(const std::function<bool(const T&)>& fits = [](const T&) { return true; }) {
    std::unique_lock lock(mutex_);
    auto found = messages_.end();
    const auto look = [&] {
      found = std::ranges::find_if(messages_, [&](const protocol::Message& message) {
        const auto* typed = std::get_if<T>(&message);
        return typed != nullptr && fits(*typed);
      });
      return found != messages_.end();
    };
    REQUIRE_MESSAGE(wake_.wait_for(lock, kPatience, look), "the agent did not say it in time");
    auto out = std::get<T>(*found);
    messages_.erase(found);
    return out;
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    messages_.clear();
  }

  /// The greeting, or nothing when the stream ended instead.
  std::optional<protocol::Hello> hello_or_end() {
    std::unique_lock lock(mutex_);
    REQUIRE(wake_.wait_for(lock, kPatience, [&] { return !messages_.empty(); }));
    const auto first = messages_.front();
    messages_.erase(messages_.begin());
    const auto* hello = std::get_if<protocol::Hello>(&first);
    return hello == nullptr ? std::nullopt : std::optional(*hello);
  }

 private:
  void note(protocol::Message message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    wake_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<protocol::Message> messages_;
};

/// An engine, a network, a backend on the network's gateway, and the proxy image.
class World {
 public:
  World()
      : network(rig.make_network()),
        subnet(network.subnets.at(0)),
        backend(*subnet.gateway, "hello from behind"),
        image(make_image()) {}
  ~World() {
    hub.close(proxy.id);
    rig.clean_up();
    if (built) (void)rig.engine().images().remove(image);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void create() {
    std::set<std::uint32_t> uids;
    for (const auto& other : must(proxy::list_proxies(rig.engine().containers())))
      uids.insert(other.uid);
    proxy = must(proxy::create_proxy(rig.engine().containers(), rig.engine().volumes(),
                                     {.image = image,
                                      .network = network.name,
                                      .uid = proxy::choose_uid(uids),
                                      .tag = proxy::random_tag()}));
  }

  /// Until the agent has opened its socket, the stream ends with a word on stderr.
  protocol::Hello connect() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::optional<protocol::Hello> hello;
    while (!hello) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      hub.close(proxy.id);
      inbox.clear();  // the words of a former channel say nothing about this one
      hub.open(proxy.id, must(proxy::connect_agent(rig.engine().execs(), proxy.id)));
      hello = inbox.hello_or_end();
    }
    if (hello->envoy != protocol::EnvoyState::Live)
      inbox.next<protocol::Status>(
          [](const auto& s) { return s.envoy == protocol::EnvoyState::Live; });
    return *hello;
  }

  /// The highest address below the broadcast address.
  core::IpAddress service_address() const { return *subnet.cidr.last().previous(); }
  core::Target service() const { return {service_address(), 80}; }

  /// Sends an Apply of a rendered unit. Answered by Applied or Rejected.
  void apply(std::uint64_t id, const core::ProxyConfig& config) {
    const auto rendered = envoy::render(config, {protocol::kXdsDir, protocol::kEndpointsDir});
    protocol::Unit unit{.unit = config.unit,
                        .owner = config.owner.text(),
                        .revision = "r" + std::to_string(id),
                        .addresses = config.addresses};
    for (const auto& r : rendered.listeners) unit.listeners.push_back({r.name, r.body});
    for (const auto& r : rendered.clusters) unit.clusters.push_back({r.name, r.body});
    for (const auto& r : rendered.endpoints)
      unit.assignments.push_back({r.cluster, r.file, r.body});
    const core::Probe probe{.label = "TCP/80", .targets = {backend.target()}};
    REQUIRE(hub.send(proxy.id, protocol::Apply{.id = id, .unit = unit, .probes = {probe}}));
  }

  core::ProxyConfig service_config() const {
    const std::string name = std::string(kUnit) + "/tcp-80/v4";
    return {
        .unit = kUnit,
        .owner = {"it@test", "default", "web"},
        .addresses = {{service_address(), subnet.cidr.length}},
        .listeners = {{.name = name, .address = service_address(), .port = 80, .backend = name}},
        .backends = {{.name = name, .targets = {backend.target()}}}};
  }

  bool volume_exists() {
    const auto volumes = must(rig.engine().volumes().list({}));
    return std::ranges::any_of(volumes, [&](const auto& v) { return v.name == proxy.volume; });
  }

  testing::DockerRig rig;
  docker::Network network;
  docker::Subnet subnet;
  testing::OneAnswer backend;
  bool built = false;  ///< the image was not there before
  std::string image;
  proxy::Proxy proxy;
  Inbox inbox;
  proxy::ChannelHub hub{inbox.callbacks()};

 private:
  std::string make_image() {
    const auto ensure = [this] {
      return must(proxy::ensure_proxy_image(rig.engine().images(), testing::envoy_image(),
                                            test::program("kindlb-agent"), {}, {}));
    };
    const auto images = must(rig.engine().images().list({proxy::kProxyLabel})).size();
    auto reference = ensure();
    built = must(rig.engine().images().list({proxy::kProxyLabel})).size() > images;
    CHECK(ensure() == reference);
    return reference;
  }
};

}  // namespace

TEST_CASE_FIXTURE(World,
                  "a Service is served through a proxy container, from creation to removal") {
  create();
  CHECK(connect().units.empty());

  apply(1, service_config());
  const auto applied = inbox.next<protocol::Applied>();
  CHECK(applied.revision == "r1");
  REQUIRE(applied.probes.size() == 1);
  CHECK(applied.probes[0].result == protocol::ProbeResult::Reached);
  CHECK(testing::http_get(service()) == "hello from behind");

  SUBCASE("endpoints are taken away and given back") {
    auto alone = service_config();
    alone.backends[0].targets.clear();
    apply(2, alone);
    inbox.next<protocol::Applied>([](const auto& a) { return a.id == 2; });
    CHECK(testing::http_get(service()) != "hello from behind");
    apply(3, service_config());
    inbox.next<protocol::Applied>([](const auto& a) { return a.id == 3; });
    CHECK(testing::http_get(service()) == "hello from behind");
  }
  SUBCASE("no client is admitted") {
    auto closed = service_config();
    closed.listeners[0].restricted = true;
    apply(2, closed);
    inbox.next<protocol::Applied>([](const auto& a) { return a.id == 2; });
    CHECK(testing::http_get(service()) != "hello from behind");
  }
  SUBCASE("what Envoy refuses is rejected in Envoy's words, and the old keeps serving") {
    auto wrong = service_config();
    wrong.listeners.push_back(wrong.listeners[0]);
    wrong.listeners[1].name = "elsewhere";
    wrong.listeners[1].address = *core::IpAddress::parse("192.0.2.1");
    apply(2, wrong);
    const auto rejected = inbox.next<protocol::Rejected>();
    CHECK(rejected.stage == protocol::RejectStage::Envoy);
    CHECK_MESSAGE(rejected.text.find("192.0.2.1") != std::string::npos, rejected.text);
    CHECK(testing::http_get(service()) == "hello from behind");
  }
  SUBCASE("it can be adopted, and serves again after a restart by itself") {
    const auto claimed = proxy::claimed_name(service_config().owner, kUnit);
    must(rig.engine().containers().rename(proxy.id, claimed));
    const auto listed = must(proxy::list_proxies(rig.engine().containers()));
    const auto found = std::ranges::find(listed, proxy.id, &proxy::Proxy::id);
    REQUIRE(found != listed.end());
    CHECK(found->role->role == proxy::Role::Claimed);
    const auto state = must(proxy::read_state(rig.engine().files(), proxy.id));
    REQUIRE(state.units.size() == 1);
    CHECK(state.units[0].revision == "r1");
    CHECK(state.units[0].acknowledged);

    must(rig.engine().containers().stop(proxy.id, std::chrono::seconds(5)));
    CHECK(testing::http_get(service(), std::chrono::seconds(1)) != "hello from behind");
    must(proxy::start_proxy(rig.engine().containers(), proxy));
    const auto hello = connect();
    REQUIRE(hello.units.size() == 1);
    CHECK(testing::http_get(service()) == "hello from behind");
  }

  hub.close(proxy.id);
  must(proxy::remove_proxy(rig.engine().containers(), rig.engine().volumes(), proxy));
  CHECK_FALSE(volume_exists());
  rig.clean_up();
  CHECK(rig.leftovers().empty());
}

#include "kindlb/controller/kind_clusters.hpp"

#include "support/builders.hpp"
#include "support/fakes/fake_docker.hpp"
#include "support/printing.hpp"
#include "support/temp_folder.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::test;
using controller::group_clusters;
using controller::KindCluster;
using docker::Container;
using Strings = std::vector<std::string>;

namespace {

Container node(const std::string& cluster, const std::string& role, const std::string& name,
               const std::string& address) {
  Container out{.id = "id-" + name, .name = name, .state = docker::ContainerState::Running};
  out.labels = {{controller::kKindClusterLabel, cluster}, {controller::kKindRoleLabel, role}};
  out.networks = {{.network = "kind", .ipv4 = ip(address)}};
  return out;
}

Container publishing(Container container, const std::string& host, std::uint16_t port) {
  container.ports.push_back({6443, host, port});
  return container;
}

KindCluster single() {
  return group_clusters(
             {publishing(node("kind", "control-plane", "kind-control-plane", "172.18.0.2"),
                         "127.0.0.1", 40001)})
      .at("kind");
}

}  // namespace

TEST_CASE("containers are grouped by the cluster their label names") {
  auto stray = node("", "worker", "stray", "172.18.0.9");
  auto unlabelled = stray;
  unlabelled.labels.clear();
  const auto clusters = group_clusters({node("b", "control-plane", "b-control-plane", "172.18.0.4"),
                                        node("a", "worker", "a-worker", "172.18.0.3"),
                                        node("a", "control-plane", "a-control-plane", "172.18.0.2"),
                                        stray, unlabelled});
  REQUIRE(clusters.size() == 2);
  CHECK(clusters.at("a").name == "a");
  REQUIRE(clusters.at("a").control_planes.size() == 1);
  CHECK(clusters.at("a").control_planes[0].name == "a-control-plane");
  CHECK(clusters.at("a").all_running);
  CHECK(clusters.at("b").control_planes.size() == 1);
}

TEST_CASE("roles: only running control planes and balancers count") {
  auto stopped = node("kind", "control-plane", "kind-control-plane2", "172.18.0.5");
  stopped.state = docker::ContainerState::Exited;
  const auto cluster =
      group_clusters({stopped, node("kind", "control-plane", "kind-control-plane3", "172.18.0.6"),
                      node("kind", "control-plane", "kind-control-plane", "172.18.0.2"),
                      node("kind", "external-load-balancer", "kind-lb", "172.18.0.7"),
                      node("kind", "worker", "kind-worker", "172.18.0.3")})
          .at("kind");
  REQUIRE(cluster.control_planes.size() == 2);
  CHECK(cluster.control_planes[0].name == "kind-control-plane");
  CHECK(cluster.control_planes[1].name == "kind-control-plane3");
  CHECK(cluster.balancers.size() == 1);
  CHECK_FALSE(cluster.all_running);
}

TEST_CASE("the network is the one that most nodes share") {
  auto a = node("kind", "control-plane", "a", "172.18.0.2");
  auto b = node("kind", "worker", "b", "172.18.0.3");
  SUBCASE("kind among equals") {
    for (auto* one : {&a, &b}) {
      one->networks.push_back({.network = "alpha", .ipv4 = ip("172.30.0.2")});
      one->networks.push_back({.network = "zulu", .ipv4 = ip("172.31.0.2")});
    }
    CHECK(group_clusters({a, b}).at("kind").network == "kind");
  }
  SUBCASE("another one when all share it") {
    a.networks = {{.network = "mine"}, {.network = "alpha"}};
    b.networks = {{.network = "mine"}};
    CHECK(group_clusters({a, b}).at("kind").network == "mine");
  }
  SUBCASE("none") {
    a.networks.clear();
    CHECK(group_clusters({a}).at("kind").network.empty());
  }
}

TEST_CASE("URLs of the API server, best first") {
  SUBCASE("one control plane: its address, then the published port") {
    CHECK(controller::api_urls(single()) ==
          Strings{"https://172.18.0.2:6443", "https://127.0.0.1:40001"});
  }
  SUBCASE("published on every address of the machine") {
    const auto cluster = group_clusters(
        {publishing(node("kind", "control-plane", "a", "172.18.0.2"), "0.0.0.0", 40001)});
    CHECK(controller::api_urls(cluster.at("kind")).back() == "https://127.0.0.1:40001");
  }
  SUBCASE("several control planes: the balancer before each of them") {
    const auto cluster = group_clusters(
        {node("kind", "control-plane", "a", "172.18.0.2"),
         node("kind", "control-plane", "b", "172.18.0.3"),
         publishing(node("kind", "external-load-balancer", "lb", "172.18.0.4"), "127.0.0.1", 40002),
         node("kind", "worker", "w", "172.18.0.5")});
    CHECK(controller::api_urls(cluster.at("kind")) ==
          Strings{"https://172.18.0.4:6443", "https://172.18.0.2:6443", "https://172.18.0.3:6443",
                  "https://127.0.0.1:40002"});
  }
  SUBCASE("IPv6 in brackets") {
    auto six = node("kind", "control-plane", "a", "172.18.0.2");
    six.networks[0].ipv4.reset();
    six.networks[0].ipv6 = ip("fc00::2");
    CHECK(controller::api_urls(group_clusters({publishing(six, "::1", 40003)}).at("kind")) ==
          Strings{"https://[fc00::2]:6443", "https://[::1]:40003"});
  }
  SUBCASE("other ports, other networks and unpublished ones do not count") {
    auto other = node("kind", "control-plane", "a", "172.18.0.2");
    other.ports = {{80, "0.0.0.0", 8080}, {6443, "127.0.0.1", 0}, {6443, "not an address", 1}};
    auto worker = node("kind", "worker", "b", "172.18.0.3");
    other.networks.push_back({.network = "elsewhere", .ipv4 = ip("172.30.0.2")});
    CHECK(controller::api_urls(group_clusters({other, worker}).at("kind")) ==
          Strings{"https://172.18.0.2:6443"});
  }
}

TEST_CASE("the signature tells when the API may have moved") {
  const auto before = single().signature();
  CHECK(single().signature() == before);
  auto container = single().control_planes[0];
  SUBCASE("another address") {
    container.networks[0].ipv4 = ip("172.18.0.3");
  }
  SUBCASE("another container") {
    container.id = "id-new";
  }
  SUBCASE("another published port") {
    container.ports[0].host_port = 40009;
  }
  CHECK(group_clusters({container}).at("kind").signature() != before);
}

TEST_CASE("a worker that is added or removed does not change the signature") {
  auto container = single().control_planes[0];
  const auto cluster =
      group_clusters({container, node("kind", "worker", "kind-worker", "172.18.0.3")}).at("kind");
  CHECK(cluster.signature() == single().signature());
}

TEST_CASE("connecting says what is missing") {
  testing::FakeEngine engine;
  SUBCASE("no control plane runs") {
    const auto result = controller::connect_cluster(engine.files(), KindCluster{.name = "kind"});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().kind == core::ErrorKind::Unavailable);
  }
  engine.images().add("node");
  engine.networks().add({.name = "kind"});
  const auto id = engine.containers().add({.name = "cp", .image = "node", .network = "kind"});
  KindCluster cluster{.name = "kind", .network = "kind"};
  cluster.control_planes = {*engine.containers().find(id)};
  SUBCASE("no kubeconfig in it yet") {
    const auto result = controller::connect_cluster(engine.files(), cluster);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().kind == core::ErrorKind::NotFound);
  }
  SUBCASE("a malformed kubeconfig") {
    engine.files().set(id, "/etc/kubernetes/admin.conf", "- a\n- list\n");
    CHECK_FALSE(controller::connect_cluster(engine.files(), cluster).ok());
  }
  SUBCASE("a kubeconfig that asks for a file of this machine") {
    const TempFolder folder;
    engine.files().set(id, "/etc/kubernetes/admin.conf",
                       "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                       "clusters: [{name: k, cluster: {server: 'https://kind:6443'}}]\n"
                       "users: [{name: u, user: {tokenFile: " +
                           folder.write("secret", "s3cret") + "}}]\n");
    const auto result = controller::connect_cluster(engine.files(), cluster);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().kind == core::ErrorKind::Invalid);
    CHECK(result.error().detail.starts_with("tokenFile names a file"));
  }
}

TEST_CASE("nodes are halted when their containers do not run or are removed") {
  using docker::ContainerState;
  using Names = std::set<std::string>;
  controller::NodeWatch watch;
  std::vector<Container> nodes = {node("kind", "control-plane", "kind-control-plane", "172.18.0.2"),
                                  node("kind", "worker", "kind-worker", "172.18.0.3"),
                                  node("kind", "worker", "kind-worker2", "172.18.0.4")};
  CHECK(watch.halted(nodes).empty());
  SUBCASE("paused and stopped") {
    nodes[1].state = ContainerState::Paused;
    nodes[2].state = ContainerState::Exited;
    CHECK(watch.halted(nodes) == Names{"kind-worker", "kind-worker2"});
    nodes[1].state = ContainerState::Running;
    CHECK(watch.halted(nodes) == Names{"kind-worker2"});
  }
  SUBCASE("being stopped, while it still runs") {
    watch.on_stopping(nodes[1].id);
    CHECK(watch.halted(nodes) == Names{"kind-worker"});
    SUBCASE("until it turns out to run on") {
      watch.on_survived(nodes[1].id);
    }
    SUBCASE("until it has died and was started again") {
      watch.on_died(nodes[1].id);
      watch.on_survived(nodes[1].id);
      CHECK(watch.halted(nodes) == Names{"kind-worker"});
      watch.on_started(nodes[1].id);
    }
    SUBCASE("until events were lost") {
      watch.forget_events();
    }
    CHECK(watch.halted(nodes).empty());
  }
  SUBCASE("dead, although the engine lists it as running for a moment longer") {
    watch.on_died(nodes[1].id);
    CHECK(watch.halted(nodes) == Names{"kind-worker"});
    SUBCASE("until it is started again") {
      watch.on_started(nodes[1].id);
    }
    SUBCASE("until events were lost") {
      watch.forget_events();
    }
    CHECK(watch.halted(nodes).empty());
  }
  SUBCASE("removed: the API still lists it for a while") {
    nodes.pop_back();
    CHECK(watch.halted(nodes) == Names{"kind-worker2"});
    CHECK(watch.halted(nodes) == Names{"kind-worker2"});
    nodes.push_back(node("kind", "worker", "kind-worker2", "172.18.0.5"));
    nodes.back().id = "another";
    CHECK(watch.halted(nodes).empty());
  }
  SUBCASE("renamed: the node keeps its first name") {
    nodes[1].name = "shiny";
    CHECK(watch.halted(nodes).empty());
    nodes[1].state = ContainerState::Paused;
    CHECK(watch.halted(nodes) == Names{"kind-worker"});
  }
  SUBCASE("nodes of a removed cluster are forgotten") {
    const auto other = node("other", "control-plane", "other-control-plane", "172.18.0.6");
    CHECK(watch.halted({other}).empty());
  }
}

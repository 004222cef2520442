#include "kindlb/controller/kind_clusters.hpp"

#include "kindlb/kube/api.hpp"
#include "kindlb/kube/config.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::uint16_t kApiPort = 6443;
constexpr const char* kAdminConfig = "/etc/kubernetes/admin.conf";

std::string label(const docker::Container& container, const char* name) {
  const auto found = container.labels.find(name);
  return found == container.labels.end() ? "" : found->second;
}

/// kind puts all nodes on one network, but a user may attach a node to others. The network that
/// most nodes share wins; among equals, "kind".
std::string common_network(const std::vector<docker::Container>& nodes) {
  std::map<std::string, std::size_t> count;
  for (const auto& node : nodes)
    for (const auto& attachment : node.networks) ++count[attachment.network];
  std::string best;
  for (const auto& [name, times] : count)
    if (best.empty() || times > count[best] || (times == count[best] && name == "kind"))
      best = name;
  return best;
}

std::string host_in_url(const core::IpAddress& address) {
  return address.family() == core::IpFamily::V6 ? "[" + address.text() + "]" : address.text();
}

void add_urls(std::vector<std::string>& direct, std::vector<std::string>& published,
              const docker::Container& container, const std::string& network) {
  for (const auto& attachment : container.networks) {
    if (attachment.network != network) continue;
    for (const auto& address : {attachment.ipv4, attachment.ipv6})
      if (address)
        direct.push_back("https://" + host_in_url(*address) + ":" + std::to_string(kApiPort));
  }
  for (const auto& port : container.ports) {
    if (port.container_port != kApiPort || port.host_port == 0) continue;
    const bool any = port.host_ip.empty() || port.host_ip == "0.0.0.0" || port.host_ip == "::";
    const auto host = core::IpAddress::parse(any ? "127.0.0.1" : port.host_ip);
    if (host)
      published.push_back("https://" + host_in_url(*host) + ":" + std::to_string(port.host_port));
  }
}

}  // namespace

std::string KindCluster::signature() const {
  std::string out = network;
  for (const auto& url : api_urls(*this)) out += " " + url;
  for (const auto& container : control_planes) out += " " + container.id;
  return out;
}

std::map<std::string, KindCluster> group_clusters(const std::vector<docker::Container>& nodes) {
  std::map<std::string, std::vector<docker::Container>> members;
  for (const auto& node : nodes)
    if (const auto name = label(node, kKindClusterLabel); !name.empty())
      members[name].push_back(node);

  std::map<std::string, KindCluster> out;
  for (auto& [name, containers] : members) {
    std::sort(containers.begin(), containers.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    auto& cluster = out[name];
    cluster.name = name;
    cluster.network = common_network(containers);
    for (const auto& container : containers) {
      const bool running = container.state == docker::ContainerState::Running;
      cluster.all_running = cluster.all_running && running;
      if (!running) continue;
      const auto role = label(container, kKindRoleLabel);
      if (role == "control-plane") cluster.control_planes.push_back(container);
      if (role == "external-load-balancer") cluster.balancers.push_back(container);
    }
  }
  return out;
}

void NodeWatch::on_started(const std::string& id) {
  stopping_.erase(id);
  died_.erase(id);
}

void NodeWatch::forget_events() {
  stopping_.clear();
  died_.clear();
}

std::set<std::string> NodeWatch::halted(const std::vector<docker::Container>& nodes) {
  std::set<std::string> clusters;
  std::set<std::string> running;
  for (const auto& node : nodes) {
    const auto cluster = label(node, kKindClusterLabel);
    clusters.insert(cluster);
    const auto& seen = seen_.try_emplace(node.id, Seen{cluster, node.name}).first->second;
    const bool ending = stopping_.contains(node.id) || died_.contains(node.id);
    if (node.state == docker::ContainerState::Running && !ending) running.insert(seen.name);
  }
  std::erase_if(seen_, [&](const auto& item) { return !clusters.contains(item.second.cluster); });
  std::set<std::string> out;
  for (const auto& [id, seen] : seen_)
    if (!running.contains(seen.name)) out.insert(seen.name);
  return out;
}

std::vector<std::string> api_urls(const KindCluster& cluster) {
  std::vector<std::string> direct;
  std::vector<std::string> published;
  // kind's own load balancer outlives any single control plane, so it goes first.
  for (const auto& container : cluster.balancers)
    add_urls(direct, published, container, cluster.network);
  for (const auto& container : cluster.control_planes)
    add_urls(direct, published, container, cluster.network);
  direct.insert(direct.end(), published.begin(), published.end());
  return direct;
}

core::Result<ClusterConnection> connect_cluster(docker::ContainerFiles& files,
                                                const KindCluster& cluster) {
  const auto operation = "connect to cluster " + cluster.name;
  if (cluster.control_planes.empty())
    return core::Error{core::ErrorKind::Unavailable, operation, "no control plane is running"};
  const auto config = files.read_file(cluster.control_planes.front().id, kAdminConfig);
  if (!config.ok()) return config.error();
  auto access = kube::parse_fetched_kubeconfig(*config);
  if (!access.ok()) return access.error();

  core::Error last{core::ErrorKind::Unavailable, operation, "no address to try"};
  for (const auto& url : api_urls(cluster)) {
    auto endpoint = access->endpoint;
    endpoint.url = url;
    endpoint.connect_timeout = std::chrono::seconds(2);
    auto client = http::make_client(endpoint);
    if (!client.ok()) return client.error();
    std::shared_ptr<http::Client> shared = std::move(*client);
    const auto version = kube::make_api(shared, cluster.name)->server_version();
    if (version.ok()) return ClusterConnection{std::move(shared), url, *version};
    last = version.error();
  }
  return last;
}

}  // namespace kindlb::controller

#include "kindlb/envoy/render.hpp"

#include "kindlb/core/assert.hpp"
#include "kindlb/core/hash.hpp"
#include "template.hpp"

#include <algorithm>
#include <set>

namespace kindlb::envoy {

using core::Backend;
using core::Listener;
using core::Protocol;
using json::Json;

namespace {

/// Neither the order of the input nor repeated entries may change the output.
template <typename T>
std::set<T> ordered(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

template <typename T>
std::vector<T> by_name(std::vector<T> values) {
  std::ranges::sort(values, {}, &T::name);
  return values;
}

std::set<core::Cidr> prefixes_of(const Listener& listener) {
  std::set<core::Cidr> out;
  for (const auto& cidr : listener.allowed) out.insert({cidr.first(), cidr.length});
  return out;
}

Json ranges_of(const Listener& listener) {
  auto out = Json::array();
  for (const auto& prefix : prefixes_of(listener))
    out.push_back({{"address_prefix", prefix.address.text()}, {"prefix_len", prefix.length}});
  return out;
}

/// Fail closed: restricted without a range is the empty matcher, which matches no client.
Json matcher_of(const Listener& listener, const Json& admit) {
  static const auto kAnyone = load_template("matcher_anyone.json");
  static const auto kRanges = load_template("matcher_ranges.json");
  if (!listener.restricted) return fill(kAnyone, {{"admit", admit}});
  if (listener.allowed.empty()) return Json::object();
  return fill(kRanges, {{"admit", admit}, {"ranges", ranges_of(listener)}});
}

Json admit_of(const Listener& listener) {
  static const auto kTcp = load_template("admit_tcp.json");
  static const auto kUdp = load_template("admit_udp.json");
  const auto& shape = listener.protocol == Protocol::Tcp ? kTcp : kUdp;
  return fill(shape, {{"cluster", listener.backend}});
}

// A UDP port with session affinity is rendered as two clusters: round robin and, with this suffix,
// Maglev. With kernel rules there is also a listener for each, and a rule redirects datagrams to
// the sticky one. Switching affinity on or off then changes the rule, not a listener or cluster in
// use, so that existing UDP sessions go on.
constexpr const char* kSticky = "~sticky";

bool has_twin(const Backend& backend) {
  return backend.protocol == Protocol::Udp && backend.affinity == core::Affinity::ClientIp;
}

bool is_sticky_udp(const core::ProxyConfig& config, const Listener& listener) {
  return std::ranges::any_of(config.backends, [&](const Backend& backend) {
    return backend.name == listener.backend && has_twin(backend);
  });
}

/// Constants of the Linux socket ABI. Not taken from system headers, so that the output does not
/// depend on the platform that renders it.
struct MtuDiscovery {
  int level;
  int option;
};
constexpr MtuDiscovery kMtuDiscoveryV4{0, 10};   // IPPROTO_IP, IP_MTU_DISCOVER
constexpr MtuDiscovery kMtuDiscoveryV6{41, 23};  // IPPROTO_IPV6, IPV6_MTU_DISCOVER

Json listener_of(const Listener& listener) {
  static const auto kTcp = load_template("listener_tcp.json");
  static const auto kUdp = load_template("listener_udp.json");
  // Envoy would open it as TCP with only a warning.
  KINDLB_ASSERT(listener.protocol != Protocol::Sctp);
  const auto& shape = listener.protocol == Protocol::Tcp ? kTcp : kUdp;
  const bool v4 = listener.address.family() == core::IpFamily::V4;
  const auto& discovery = v4 ? kMtuDiscoveryV4 : kMtuDiscoveryV6;
  return fill(shape, {{"name", listener.name},
                      {"ip_level", discovery.level},
                      {"mtu_discover", discovery.option},
                      {"address", listener.address.text()},
                      {"port", listener.port},
                      {"cluster", listener.backend},
                      {"matcher", matcher_of(listener, admit_of(listener))}});
}

/// Return a file name for a cluster, whose own name contains slashes and may be too long.
std::string endpoint_file(const std::string& cluster) {
  return "eds-" + core::hex(core::fnv1a(cluster)) + ".json";
}

/// Limit the memory and ports that many clients, or spoofed ones, can use up (docs/data-path.md).
constexpr int kMaxConnections = 1'000'000;
constexpr int kMaxUdpSessions = 16'384;

/// 0: with no healthy host close connections at once (Envoy's panic mode would try unhealthy ones).
/// With health checks, panic mode at 1 %: EndpointSlices choose the nodes, and a failing health
/// check of all of them must not stop a Service.
int panic_threshold(const Backend& backend) {
  return backend.health_port == 0 ? 0 : 1;
}

/// Health checks go without the PROXY header: kube-proxy's /healthz does not understand it.
void add_proxy_protocol(Json& cluster, core::ProxyProtocol version) {
  static const auto kShape = load_template("proxy_protocol.json");
  static const auto kPlainChecks = load_template("plain_checks.json");
  if (version == core::ProxyProtocol::None) return;
  const char* name = version == core::ProxyProtocol::V1 ? "V1" : "V2";
  cluster["transport_socket"] = fill(kShape, {{"version", name}});
  cluster["transport_socket_matches"] = Json::array({kPlainChecks});
}

void add_health_check(Json& cluster, const Backend& backend) {
  static const auto kShape = load_template("health_check.json");
  if (backend.health_port != 0) cluster["health_checks"] = Json::array({kShape});
}

/// Maglev keeps a client on its endpoint when other endpoints come and go, which is the closest
/// that a load balancer without shared state can come to sessionAffinity ClientIP.
Json cluster_of(const Backend& backend, const XdsPaths& paths) {
  static const auto kShape = load_template("cluster.json");
  const bool sticky = backend.affinity == core::Affinity::ClientIp;
  const bool tcp = backend.protocol == Protocol::Tcp;
  auto cluster = fill(kShape, {{"name", backend.name},
                               {"policy", sticky ? "MAGLEV" : "ROUND_ROBIN"},
                               {"panic_threshold", panic_threshold(backend)},
                               {"max_connections", tcp ? kMaxConnections : kMaxUdpSessions},
                               {"eds_file", paths.endpoints + "/" + endpoint_file(backend.name)}});
  if (tcp) add_proxy_protocol(cluster, backend.proxy_protocol);
  add_health_check(cluster, backend);
  return cluster;
}

Json endpoint_of(const core::Target& target, std::uint16_t health_port) {
  const Json socket = {{"address", target.address.text()}, {"port_value", target.port}};
  Json endpoint = {{"address", {{"socket_address", socket}}}};
  if (health_port != 0) endpoint["health_check_config"] = {{"port_value", health_port}};
  return {{"endpoint", endpoint}};
}

Json endpoints_of(const Backend& backend) {
  static const auto kShape = load_template("endpoints.json");
  auto endpoints = Json::array();
  for (const auto& target : ordered(backend.targets))
    endpoints.push_back(endpoint_of(target, backend.health_port));
  return fill(kShape, {{"cluster", backend.name}, {"endpoints", endpoints}});
}

/// Return the port of a sticky listener. It is derived from the Service port alone, so that it does
/// not move when other ports come and go. 0: the Service uses that port itself.
std::uint16_t twin_port(const core::ProxyConfig& config, const Listener& listener) {
  constexpr std::uint16_t kFarAway = 0x8000;
  const auto port = static_cast<std::uint16_t>(listener.port ^ kFarAway);
  const bool taken = std::ranges::any_of(config.listeners, [&](const Listener& other) {
    return other.protocol == Protocol::Udp && other.address == listener.address &&
           other.port == port;
  });
  return taken ? std::uint16_t{0} : port;
}

/// Renders every listener twice: as it must be without kernel rules, and behind them.
class Renderer {
 public:
  Renderer(const core::ProxyConfig& config, const XdsPaths& paths)
      : config_(config), paths_(paths) {}

  Rendered run() {
    for (const auto& listener : by_name(config_.listeners)) {
      auto guarded = listener;
      if (is_sticky_udp(config_, listener)) guarded.backend += kSticky;
      add(out_.listeners, guarded);
      if (listener.protocol == Protocol::Udp)
        add_udp(listener);
      else
        add(out_.listeners_behind_rules, listener);
    }
    if (out_.udp_rules.empty()) out_.listeners_behind_rules.clear();
    for (const auto& backend : by_name(config_.backends)) add_backend(backend);
    return std::move(out_);
  }

 private:
  static void add(std::vector<Rendered::Named>& to, const Listener& listener) {
    to.push_back({listener.name, json::dump(listener_of(listener))});
  }

  void add_udp(Listener listener) {
    core::UdpRule rule;
    rule.at = {listener.address, listener.port};
    rule.restricted = listener.restricted;
    const auto prefixes = prefixes_of(listener);
    rule.allowed.assign(prefixes.begin(), prefixes.end());
    listener.restricted = false;
    if (is_sticky_udp(config_, listener)) divert(listener, rule);
    add(out_.listeners_behind_rules, listener);
    if (rule.restricted || rule.divert != 0) out_.udp_rules.push_back(std::move(rule));
  }

  /// Add the sticky listener that `rule` redirects to. Without a free port for it, Envoy switches
  /// the cluster of the only listener, and its sessions are lost.
  void divert(Listener& listener, core::UdpRule& rule) {
    rule.divert = twin_port(config_, listener);
    if (rule.divert == 0) {
      listener.backend += kSticky;
      return;
    }
    auto twin = listener;
    twin.port = rule.divert;
    rule.listener = twin.name += kSticky;
    rule.cluster = twin.backend += kSticky;
    add(out_.listeners_behind_rules, twin);
  }

  void add_backend(Backend backend) {
    if (has_twin(backend)) {
      auto plain = backend;
      plain.affinity = core::Affinity::None;
      add_cluster(plain);
      backend.name += kSticky;
    }
    add_cluster(backend);
  }
  void add_cluster(const Backend& backend) {
    out_.clusters.push_back({backend.name, json::dump(cluster_of(backend, paths_))});
    out_.endpoints.push_back(
        {backend.name, endpoint_file(backend.name), json::dump(endpoints_of(backend))});
  }

  const core::ProxyConfig& config_;
  const XdsPaths& paths_;
  Rendered out_;
};

}  // namespace

Rendered render(const core::ProxyConfig& config, const XdsPaths& paths) {
  return Renderer(config, paths).run();
}

std::string bootstrap(const std::string& admin_socket, const XdsPaths& paths) {
  return json::dump(
      fill(load_template("bootstrap.json"), {{"admin_socket", admin_socket},
                                             {"lds_file", paths.directory + "/lds.json"},
                                             {"cds_file", paths.directory + "/cds.json"}}));
}

}  // namespace kindlb::envoy

#include "envoy/render_cases.hpp"

namespace kindlb::testing {

using core::Backend;
using core::Listener;
using core::Protocol;
using core::ProxyConfig;
using core::Target;

namespace {

constexpr const char* kUnit = "6f1b1f6e-8f5c-4c3e-9d56-2f5d9b8c7a10";
constexpr const char* kV4 = "172.18.255.250";
constexpr const char* kV6 = "fc00:f853:ccd:e793::ffff:fffa";

Listener listener_of(Protocol protocol, const std::string& address, std::uint16_t port) {
  const auto ip = *core::IpAddress::parse(address);
  const std::string kind = protocol == Protocol::Tcp ? "/tcp-" : "/udp-";
  const std::string family = ip.family() == core::IpFamily::V4 ? "/v4" : "/v6";
  const auto name = kUnit + kind + std::to_string(port) + family;
  return {.name = name, .address = ip, .port = port, .protocol = protocol, .backend = name};
}

ProxyConfig config_of(std::vector<Listener> listeners, const std::vector<Target>& targets) {
  ProxyConfig out{.unit = kUnit, .owner = {"kind", "default", "web"}};
  for (const auto& listener : listeners) out.backends.push_back(backend_of(listener, targets));
  out.listeners = std::move(listeners);
  return out;
}

ProxyConfig sticky(ProxyConfig config) {
  for (auto& backend : config.backends) backend.affinity = core::Affinity::ClientIp;
  return config;
}

ProxyConfig announced(ProxyConfig config, core::ProxyProtocol version) {
  for (auto& backend : config.backends) backend.proxy_protocol = version;
  return config;
}

ProxyConfig checked(ProxyConfig config) {
  for (auto& backend : config.backends) backend.health_port = 32'000;
  return config;
}

std::vector<Target> node_ports() {
  return {target("172.18.0.2", 30'080), target("172.18.0.3", 30'080)};
}

std::vector<Target> pods() {
  return {target("10.244.1.2", 8080), target("10.244.2.3", 8080)};
}

std::vector<Target> pods_v6() {
  return {target("fd00:10:244:1::2", 8080), target("fd00:10:244:2::3", 8080)};
}

/// Names no API server would accept, to show that content cannot change structure.
ProxyConfig hostile() {
  auto config = config_of({tcp_listener(kV4, 80)}, pods());
  const std::string name = "\"},{\"x\":\"${matcher}\\\n../../etc";
  config.owner.name = name;
  config.listeners[0].name = "${matcher}";
  config.listeners[0].backend = name;
  config.backends[0].name = name;
  return config;
}

ProxyConfig dual_stack_dns() {
  auto config = config_of({tcp_listener(kV4, 53), udp_listener(kV4, 53)}, pods());
  const auto v6 = config_of({tcp_listener(kV6, 53), udp_listener(kV6, 53)}, pods_v6());
  config.listeners.insert(config.listeners.end(), v6.listeners.begin(), v6.listeners.end());
  config.backends.insert(config.backends.end(), v6.backends.begin(), v6.backends.end());
  return sticky(config);
}

}  // namespace

envoy::XdsPaths golden_paths() {
  return {.directory = "/var/lib/kindlb/xds", .endpoints = "/var/lib/kindlb/xds/eds"};
}

Listener tcp_listener(const std::string& address, std::uint16_t port) {
  return listener_of(Protocol::Tcp, address, port);
}

Listener udp_listener(const std::string& address, std::uint16_t port) {
  return listener_of(Protocol::Udp, address, port);
}

Listener restricted(Listener listener, const std::vector<std::string>& ranges) {
  listener.restricted = true;
  for (const auto& range : ranges) listener.allowed.push_back(*core::Cidr::parse(range));
  return listener;
}

Backend backend_of(const Listener& listener, const std::vector<Target>& targets) {
  return {.name = listener.backend, .protocol = listener.protocol, .targets = targets};
}

Target target(const std::string& address, std::uint16_t port) {
  return {*core::IpAddress::parse(address), port};
}

std::vector<RenderCase> render_cases() {
  const std::vector<std::string> ranges = {"10.0.0.0/8", "10.1.2.3/16", "172.18.0.0/16"};
  return {
      {"tcp_one_port", config_of({tcp_listener(kV4, 80)}, pods())},
      {"tcp_three_ports",
       config_of({tcp_listener(kV4, 8443), tcp_listener(kV4, 80), tcp_listener(kV4, 443)}, pods())},
      {"tcp_ipv6", config_of({tcp_listener(kV6, 80)}, pods_v6())},
      {"tcp_source_ranges", config_of({restricted(tcp_listener(kV4, 80), ranges)}, pods())},
      {"tcp_nobody_admitted", config_of({restricted(tcp_listener(kV4, 80), {})}, pods())},
      {"tcp_affinity", sticky(config_of({tcp_listener(kV4, 80)}, pods()))},
      {"tcp_proxy_protocol_v1",
       announced(config_of({tcp_listener(kV4, 80)}, pods()), core::ProxyProtocol::V1)},
      {"tcp_proxy_protocol_v2",
       announced(config_of({tcp_listener(kV6, 80)}, pods_v6()), core::ProxyProtocol::V2)},
      {"tcp_health_check", checked(config_of({tcp_listener(kV4, 80)}, node_ports()))},
      {"tcp_proxy_protocol_health_check",
       announced(checked(config_of({tcp_listener(kV4, 80)}, node_ports())),
                 core::ProxyProtocol::V2)},
      {"tcp_no_endpoints", config_of({tcp_listener(kV4, 80)}, {})},
      {"udp_one_port", config_of({udp_listener(kV4, 53)}, pods())},
      {"udp_source_ranges",
       config_of({restricted(udp_listener(kV6, 53), {"fc00::/7", "::1/128"})}, pods_v6())},
      {"udp_nobody_admitted", config_of({restricted(udp_listener(kV4, 53), {})}, pods())},
      {"udp_affinity", sticky(config_of({udp_listener(kV4, 53)}, pods()))},
      {"udp_affinity_source_ranges",
       sticky(
           config_of({restricted(udp_listener(kV4, 53), ranges), tcp_listener(kV4, 53)}, pods()))},
      {"udp_health_check", checked(config_of({udp_listener(kV4, 53)}, node_ports()))},
      {"dual_stack_dns", dual_stack_dns()},
      {"hostile_names", hostile()},
  };
}

}  // namespace kindlb::testing

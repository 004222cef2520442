#pragma once
// What one Service wants of its proxy, before it is rendered for Envoy: the output of core's
// decision and the input of envoy/render. Every vector has a defined order, so that equal wishes
// render to equal bytes.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/service.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace kindlb::core {

struct Target {
  IpAddress address;
  std::uint16_t port = 0;

  std::string text() const;  ///< "10.0.0.1:80", "[::1]:80"
  auto operator<=>(const Target&) const = default;
};

/// Whether backends are told the client's address (annotation kindlb.dev/proxy-protocol).
enum class ProxyProtocol { None, V1, V2 };

/// Where the connections of one listener go. Targets sorted and unique.
struct Backend {
  std::string name;  ///< unique in a proxy: "<uid>/TCP/80/v4"
  Protocol protocol = Protocol::Tcp;
  Affinity affinity = Affinity::None;
  ProxyProtocol proxy_protocol = ProxyProtocol::None;  ///< TCP only
  /// Node ports with traffic policy Local: each target's host is asked for /healthz on this port.
  std::uint16_t health_port = 0;
  std::vector<Target> targets;

  bool operator==(const Backend&) const = default;
};

struct Listener {
  std::string name;  ///< unique in a proxy
  IpAddress address;
  std::uint16_t port = 0;
  Protocol protocol = Protocol::Tcp;
  std::string backend;
  bool restricted = false;    ///< true: only `allowed` may connect, and an empty list admits nobody
  std::vector<Cidr> allowed;  ///< sorted, unique

  bool operator==(const Listener&) const = default;
};

/// How packets to `to` leave the proxy's network namespace.
struct Route {
  Cidr to;
  IpAddress via;

  auto operator<=>(const Route&) const = default;
};

/// What the kernel does with datagrams to one port before Envoy sees them. Envoy forgets its UDP
/// sessions when a listener or cluster changes; a rule of the kernel's can change under them.
struct UdpRule {
  Target at;
  bool restricted = false;    ///< as in Listener
  std::vector<Cidr> allowed;  ///< of either family
  /// Not 0: the port of the listener that gets them instead. Its answers come from `at` again.
  std::uint16_t divert = 0;
  std::string listener;  ///< the one behind `divert`
  std::string cluster;   ///< and where it sends them

  bool operator==(const UdpRule&) const = default;
};

/// Addresses to try until one accepts a connection, before the Service is called serving.
struct Probe {
  std::string label;  ///< "TCP/80/v4", for messages
  std::vector<Target> targets;

  bool operator==(const Probe&) const = default;
};

/// The whole wish of one Service, identified by its uid.
struct ProxyConfig {
  std::string unit;  ///< the Service's uid
  ServiceKey owner;
  std::vector<Cidr> addresses;  ///< the Service's addresses with the network's prefix length
  std::vector<Route> routes;
  std::vector<Listener> listeners;
  std::vector<Backend> backends;
  bool direct = true;  ///< straight to pods; otherwise through node ports

  bool operator==(const ProxyConfig&) const = default;
};

}  // namespace kindlb::core

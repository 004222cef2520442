#pragma once
// The configuration of one Service in its proxy, before it is rendered for Envoy: the output of
// core's decision and the input of envoy/render. Every vector has a defined order, so that equal
// configurations render to equal bytes and hash to equal revisions.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/service.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace kindlb::core {

/// An address and port to connect to.
struct Target {
  IpAddress address;
  std::uint16_t port = 0;

  std::string text() const;  ///< "10.0.0.1:80", "[::1]:80"
  auto operator<=>(const Target&) const = default;
};

/// The PROXY protocol version sent to backends (annotation kindlb.dev/proxy-protocol).
enum class ProxyProtocol { None, V1, V2 };

/// Where the connections of one listener go. INVARIANT: targets are sorted and unique.
struct Backend {
  std::string name;  ///< unique in a proxy: "<uid>/TCP/80/v4"
  Protocol protocol = Protocol::Tcp;
  Affinity affinity = Affinity::None;
  ProxyProtocol proxy_protocol = ProxyProtocol::None;  ///< TCP only
  /// Node ports with externalTrafficPolicy Local: Envoy health-checks /healthz on this port
  /// (spec.healthCheckNodePort) of each target's host. 0: no health checks.
  std::uint16_t health_port = 0;
  std::vector<Target> targets;

  bool operator==(const Backend&) const = default;
};

/// A port that Envoy listens on.
struct Listener {
  std::string name;  ///< unique in a proxy
  IpAddress address;
  std::uint16_t port = 0;
  Protocol protocol = Protocol::Tcp;
  std::string backend;
  bool restricted = false;    ///< true: only `allowed` may connect; an empty list denies all
  std::vector<Cidr> allowed;  ///< sorted, unique

  bool operator==(const Listener&) const = default;
};

/// A route of the proxy's network namespace.
struct Route {
  Cidr to;
  IpAddress via;

  auto operator<=>(const Route&) const = default;
};

/// An nf_tables rule for the datagrams to one UDP port, applied by the agent before Envoy sees
/// them. Envoy drops the UDP sessions of a listener when the listener or its cluster changes, and
/// replies in flight with them. Source ranges and session affinity of UDP ports are therefore
/// enforced by the kernel, where a rule can change while sessions go on.
struct UdpRule {
  Target at;                  ///< the Service's address and port
  bool restricted = false;    ///< as in Listener
  std::vector<Cidr> allowed;  ///< of either family
  /// Not 0: redirect to the listener on this port. Replies are rewritten to come from `at`.
  std::uint16_t divert = 0;
  std::string listener;  ///< the one on port `divert`
  std::string cluster;   ///< the cluster of that listener

  bool operator==(const UdpRule&) const = default;
};

/// Targets to connect to, by TCP, before the Service is reported as serving: one that accepts is
/// enough.
struct Probe {
  std::string label;  ///< "TCP/80/v4", for messages
  std::vector<Target> targets;
  /// A refusal is as good: the host answers, and more cannot be learnt about a UDP port, whose
  /// silence proves nothing.
  bool any_answer = false;

  bool operator==(const Probe&) const = default;
};

/// The whole configuration of one Service: an apply replaces the previous one of the same uid.
struct ProxyConfig {
  std::string unit;  ///< the Service's uid
  ServiceKey owner;
  std::vector<Cidr> addresses;  ///< the Service's addresses with the network's prefix length
  std::vector<Route> routes;
  std::vector<Listener> listeners;
  std::vector<Backend> backends;
  bool direct = true;  ///< false when any family uses node ports

  bool operator==(const ProxyConfig&) const = default;
};

}  // namespace kindlb::core

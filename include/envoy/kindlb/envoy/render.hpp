#pragma once
// Render a Service's configuration (core::ProxyConfig) as Envoy resources. Pure: equal input gives
// equal bytes, whatever the order of its vectors, so that Envoy only sees real changes. Templates
// from envoy-templates/ (embedded at build time) are filled structurally, never by text
// substitution. test/golden pins the output, and the contract tests load each golden into a real
// Envoy.

#include "kindlb/core/proxy_config.hpp"

#include <string>
#include <vector>

namespace kindlb::envoy {

/// The resources of one Service. Each body is one JSON object with its "@type".
struct Rendered {
  struct Named {
    std::string name;
    std::string body;
    bool operator==(const Named&) const = default;
  };
  struct Endpoints {
    std::string cluster;
    std::string file;
    std::string body;
    bool operator==(const Endpoints&) const = default;
  };
  std::vector<Named> listeners;
  std::vector<Named> clusters;
  std::vector<Endpoints> endpoints;
  /// For proxies whose kernel supports nf_tables: the rules for UDP ports, and the listeners that
  /// rely on them and replace `listeners` as a whole. Both empty when no port needs a rule. Where
  /// the kernel cannot filter, `listeners` alone implement everything, at the price of UDP sessions
  /// that break when ranges or affinity change.
  std::vector<core::UdpRule> udp_rules;
  std::vector<Named> listeners_behind_rules;

  bool operator==(const Rendered&) const = default;
};

/// The directories of Envoy's filesystem xDS. Each file is watched on its own and replaced by a
/// rename, so that the cost of a change does not depend on how much else is configured.
struct XdsPaths {
  std::string directory;  ///< lds.json and cds.json
  std::string endpoints;  ///< a file per cluster
};

/// Render listeners, clusters and endpoints. REQUIRES: no SCTP listener.
Rendered render(const core::ProxyConfig& config, const XdsPaths& paths);

/// Render Envoy's bootstrap configuration, part of the proxy image: the admin interface on an
/// abstract unix socket ("@name"), LDS and CDS from files, and long watchdog intervals, which make
/// an idle Envoy use next to no CPU.
std::string bootstrap(const std::string& admin_socket, const XdsPaths& paths);

}  // namespace kindlb::envoy

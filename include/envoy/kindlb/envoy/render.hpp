#pragma once
// A Service's wish (core::ProxyConfig) as Envoy resources. Pure: same wish, same bytes. Resources
// are filled structurally from envoy-templates/ (embedded at build time), never pasted as text.

#include "kindlb/core/proxy_config.hpp"

#include <string>
#include <vector>

namespace kindlb::envoy {

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
  /// Where the kernel can filter: its rules for UDP ports, and the listeners to go with them in the
  /// place of `listeners`. Empty when no port needs them.
  std::vector<core::UdpRule> udp_rules;
  std::vector<Named> listeners_behind_rules;

  bool operator==(const Rendered&) const = default;
};

/// Where Envoy finds its files. Each is watched by itself and replaced by a rename, so that a
/// change costs what has changed, however much else there is.
struct XdsPaths {
  std::string directory;  ///< lds.json and cds.json
  std::string endpoints;  ///< a file per cluster
};

Rendered render(const core::ProxyConfig& config, const XdsPaths& paths);

/// The start-up configuration baked into the proxy image: admin on an abstract unix socket
/// ("@name"), LDS and CDS from files, long watchdogs (an idle Envoy then costs next to no CPU).
std::string bootstrap(const std::string& admin_socket, const XdsPaths& paths);

}  // namespace kindlb::envoy

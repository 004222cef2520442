#pragma once
// How this kindlb was told to behave, and what its data path can do: the constants of every
// decision.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/service.hpp"

#include <set>
#include <string>
#include <vector>

namespace kindlb::core {

/// How traffic gets from a proxy into the cluster.
enum class Datapath { Auto, Direct, NodePort };

/// Whether one load balancer can have ports of several protocols (KEP-1435's survey of clouds).
enum class MixedProtocols {
  Any,            ///< also TCP and UDP on the same port number
  DistinctPorts,  ///< as long as no port number is used twice
  None,           ///< one protocol: that of the first port that could be opened
};

/// What a provider can do (docs/contract.md §3). The defaults are what our data path really does
/// today; `--profile` replaces them.
struct Capabilities {
  std::set<Protocol> protocols = {Protocol::Tcp, Protocol::Udp};
  MixedProtocols mixed_protocols = MixedProtocols::Any;
  /// Set: several protocols only where the Service carries this annotation with the value "true".
  std::string mixed_protocols_annotation;
  std::set<IpFamily> families = {IpFamily::V4, IpFamily::V6};
  bool dual_stack = true;     ///< false: one family per Service
  bool several_ports = true;  ///< false: only the first port
  bool direct_path = true;    ///< false: only through node ports
  bool session_affinity = true;
  bool source_ranges = true;
  bool load_balancer_ip = true;
  bool preserves_source_ip = false;  ///< a proxy never does

  bool operator==(const Capabilities&) const = default;
};

struct Policy {
  std::vector<std::string> classes = {"kindlb.dev/envoy"};
  bool require_class = false;  ///< leave Services without a class to others
  bool strict = false;         ///< refuse what would be degraded (but for traffic policy Local)
  Datapath datapath = Datapath::Auto;
  std::vector<AddressRange> ip_ranges;  ///< new addresses come from these; a family without any:
                                        ///< from the whole docker network
  Capabilities capabilities;
};

}  // namespace kindlb::core

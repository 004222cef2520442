#pragma once
// Flags and capabilities: the inputs of every decision that stay constant while kindlb runs.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/service.hpp"

#include <set>
#include <string>
#include <vector>

namespace kindlb::core {

/// How traffic gets from a proxy into the cluster (--datapath, annotation kindlb.dev/datapath).
enum class Datapath { Auto, Direct, NodePort };

/// Whether one load balancer can mix protocols (KEP-1435, survey of cloud providers).
enum class MixedProtocols {
  Any,            ///< also TCP and UDP on the same port number
  DistinctPorts,  ///< only on different port numbers
  None,           ///< one protocol: that of the first supported port
};

/// What a provider supports (docs/contract.md §3). The defaults describe kindlb's own data path;
/// `--profile` replaces them to imitate another provider.
struct Capabilities {
  std::set<Protocol> protocols = {Protocol::Tcp, Protocol::Udp};
  MixedProtocols mixed_protocols = MixedProtocols::Any;
  /// Set: protocols may be mixed only if the Service has this annotation with the value "true".
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

/// What the command line decides.
struct Policy {
  std::vector<std::string> classes = {"kindlb.dev/envoy"};
  bool require_class = false;  ///< ignore Services without a loadBalancerClass
  bool strict = false;         ///< refuse instead of degrading (except traffic policy Local)
  Datapath datapath = Datapath::Auto;
  bool conditions = true;  ///< write conditions; without them the address tells what is served
  std::vector<AddressRange> ip_ranges;  ///< allocate from these; a family without a range uses
                                        ///< the whole docker network
  Capabilities capabilities;
};

}  // namespace kindlb::core

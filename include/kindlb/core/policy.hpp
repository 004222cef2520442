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

/// What a provider can do (behaviour: "Refuse, degrade, or serve"). The defaults are what our data
/// path really does today.
struct Capabilities {
  std::set<Protocol> protocols = {Protocol::Tcp};
  std::set<IpFamily> families = {IpFamily::V4};
  bool session_affinity = false;
  bool source_ranges = false;
  bool load_balancer_ip = false;
  bool preserves_source_ip = false;  ///< a proxy never does
};

struct Policy {
  std::vector<std::string> classes = {"kindlb.dev/envoy"};
  bool require_class = false;  ///< leave Services without a class to others
  bool strict = false;         ///< refuse what would be degraded (but for traffic policy Local)
  Datapath datapath = Datapath::Auto;
  Capabilities capabilities;
};

}  // namespace kindlb::core

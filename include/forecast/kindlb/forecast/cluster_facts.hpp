#pragma once
// The cluster and the docker network that `kindlb plan` imagines: kind's usual ones, or what the
// file of --cluster says. Passive values and their strict reader; docs/plan.md describes the file.

#include "kindlb/core/addresses.hpp"
#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::forecast {

/// Pods of one Service, in brief: what EndpointSlices would say.
struct BriefEndpoints {
  std::string service;  ///< "namespace/name"
  std::string node;     ///< empty: the first one
  std::vector<core::IpAddress> addresses;
  bool ready = true;
  /// Numbers by the name of the Service's port; else its target port, which then must be a number.
  std::map<std::string, std::uint16_t> ports;
  std::string place;  ///< "facts.yaml:7:3"

  bool operator==(const BriefEndpoints&) const = default;
};

struct ClusterFacts {
  /// Subnets and who holds which address; only of families that the cluster has.
  std::map<core::IpFamily, core::AddressSpace> network;
  std::vector<core::IpFamily> families;  ///< of the cluster, the primary one first
  std::vector<core::Node> nodes;
  std::vector<BriefEndpoints> endpoints;

  bool operator==(const ClusterFacts&) const = default;
};

/// kind's usual network, and one node.
ClusterFacts default_facts();

/// What the file leaves out is as usual. Errors have FILE:LINE:COLUMN as their operation.
core::Result<ClusterFacts> parse_facts(const std::string& yaml, const std::string& file);

}  // namespace kindlb::forecast

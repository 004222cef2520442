#pragma once
// The cluster and docker network that `kindlb plan` assumes: kind's defaults, or those of the file
// that --cluster names. Passive values and their strict parser; docs/plan.md describes the file.

#include "kindlb/core/addresses.hpp"
#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::forecast {

/// Endpoints of one Service in short form; expanded to EndpointSlices by the forecast.
struct BriefEndpoints {
  std::string service;  ///< "namespace/name"
  std::string node;     ///< empty: the first node
  std::vector<core::IpAddress> addresses;
  bool ready = true;
  /// Port numbers by name of the Service port. A port that is not listed uses its targetPort, which
  /// must then be a number.
  std::map<std::string, std::uint16_t> ports;
  std::string place;  ///< "facts.yaml:7:3"

  bool operator==(const BriefEndpoints&) const = default;
};

/// What is known of the cluster before any manifest is read.
struct ClusterFacts {
  /// Subnets and taken addresses; only for families that the cluster has.
  std::map<core::IpFamily, core::AddressSpace> network;
  std::vector<core::IpFamily> families;  ///< of the cluster, the primary one first
  std::vector<core::Node> nodes;
  std::vector<BriefEndpoints> endpoints;

  bool operator==(const ClusterFacts&) const = default;
};

/// Return kind's default network with one node.
ClusterFacts default_facts();

/// Parse a facts file. What it leaves out has default values. Errors have FILE:LINE:COLUMN as
/// operation.
core::Result<ClusterFacts> parse_facts(const std::string& yaml, const std::string& file);

}  // namespace kindlb::forecast

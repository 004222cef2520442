#pragma once
// Networks of an engine. See engine.hpp for what holds for all calls.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/labels.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::docker {

/// One IPAM entry of a network.
struct Subnet {
  core::Cidr cidr;
  std::optional<core::IpAddress> gateway;
};

/// A running container on a network, as inspecting the network shows it.
struct NetworkMember {
  std::string container_id;
  std::string name;
  std::optional<core::Cidr> ipv4;
  std::optional<core::Cidr> ipv6;
};

/// As the list and the inspect call describe it.
struct Network {
  std::string id;
  std::string name;
  std::string driver;
  Labels labels;
  std::vector<Subnet> subnets;
  std::vector<NetworkMember> members;  ///< only in an inspected network
};

/// What Networks::create() asks for: a bridge network.
struct NetworkSpec {
  std::string name;
  Labels labels;
  std::vector<Subnet> subnets;  ///< empty: the engine chooses
  bool enable_ipv6 = false;
};

/// The networks of one engine. Thread-safe; lives as long as its Engine.
class Networks {
 public:
  virtual ~Networks() = default;

  virtual core::Result<std::vector<Network>> list(const std::vector<std::string>& labels) = 0;
  virtual core::Result<Network> inspect(const std::string& name_or_id) = 0;
  /// Create a bridge network and return its id. Conflict: the name is taken; Denied: a subnet
  /// overlaps with another network's.
  virtual core::Result<std::string> create(const NetworkSpec& spec) = 0;
  /// Denied while containers are attached.
  virtual core::Result<void> remove(const std::string& name_or_id) = 0;
};

}  // namespace kindlb::docker

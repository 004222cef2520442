#pragma once
// Probes a Service through its load balancer, as a client would. Only addresses that this machine
// routes into the sandbox's own network are probed: no traffic leaves the machine, whatever address
// a status contains.

#include "kindlb/core/service.hpp"
#include "kindlb/docker/networks.hpp"

#include <string>
#include <vector>

namespace kindlb::demo {

struct Probe {
  std::string command;  ///< "curl http://198.51.100.254/hostname"
  std::string answer;   ///< the first line, or why there is none
  bool good = false;    ///< the answer is the one that an echo pod gives
};

/// Probe each open port at each address once. Blocks for up to some seconds per port.
std::vector<Probe> probe(const core::Service& service, const docker::Network& network);

}  // namespace kindlb::demo

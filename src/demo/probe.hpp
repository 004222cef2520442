#pragma once
// One question to a Service through its load balancer, as a client would ask it. Only addresses
// that this machine reaches over the sandbox's own network are asked: nothing leaves the machine.

#include "kindlb/core/service.hpp"
#include "kindlb/docker/engine.hpp"

#include <string>
#include <vector>

namespace kindlb::demo {

struct Probe {
  std::string command;  ///< "curl http://198.51.100.254/hostname"
  std::string answer;   ///< the first line, or why there is none
  bool good = false;
};

/// Each open port at each address, once. Blocks, for seconds at most per port.
std::vector<Probe> probe(const core::Service& service, const docker::Network& network);

}  // namespace kindlb::demo

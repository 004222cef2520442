#pragma once
// What a run is told: values only, so that the command line can hold them without the runner.

#include "kindlb/conformance/judge.hpp"

#include <cstdint>
#include <string>

namespace kindlb::conformance {

/// Where traffic ends up.
struct Workload {
  /// Of own pods: agnhost, or what takes the same arguments and answers alike. Empty: the agnhost
  /// that a node has, else the public one.
  std::string image;
  /// Not empty: pods that are there, "app=echo", in namespace `ns`. They must answer HTTP
  /// GET /hostname with a name of their own, GET /clientip with the address and port of their peer,
  /// and every datagram with some datagram.
  std::string selector;
  std::string ns = "default";
  std::uint16_t tcp_port = 8080;
  std::uint16_t udp_port = 8081;
};

struct Settings {
  Limits limits;
  std::string focus;  ///< regular expression that names must match; empty: all
  unsigned parallel = 2;
  std::string namespace_prefix = "kindlb-conformance";
  /// Annotation in which the provider also takes required features, comma-separated; empty: none.
  std::string features_annotation;
  std::string load_balancer_class;  ///< of the Services; empty: none, for the default provider
  Workload workload;
};

}  // namespace kindlb::conformance

#pragma once
// The settings of a run: values only, so that the command line can hold them without including the
// runner.

#include "kindlb/conformance/judge.hpp"

#include <cstdint>
#include <string>

namespace kindlb::conformance {

/// The pods that answer behind the Services under test.
struct Workload {
  /// Image of the pods to create: agnhost, or one that takes the same arguments and answers alike.
  /// Empty: an agnhost that a node already has, else the public one.
  std::string image;
  /// If not empty, use existing pods with this label ("app=echo") in namespace `ns` instead. They
  /// must answer HTTP GET /hostname with a name that is unique to the pod, GET /clientip with the
  /// address and port of their peer, and every datagram with a datagram.
  std::string selector;
  std::string ns = "default";
  std::uint16_t tcp_port = 8080;
  std::uint16_t udp_port = 8081;
};

struct Settings {
  Limits limits;
  std::string focus;      ///< regular expression that names must match; empty: all
  unsigned parallel = 2;  ///< tests at a time
  std::string namespace_prefix = "kindlb-conformance";
  /// Annotation in which the provider also reads required features, comma-separated; empty: none.
  std::string features_annotation;
  std::string load_balancer_class;  ///< of the Services; empty: none, for the default provider
  Workload workload;
};

}  // namespace kindlb::conformance

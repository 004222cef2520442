#pragma once
// The embedded API server: the part of the Kubernetes API that a load-balancer provider needs, over
// HTTP or HTTPS. It stores Namespaces, Services, EndpointSlices, Nodes, Pods, Events and Leases,
// with kube-apiserver's semantics for Services and those of the KEPs that kindlb implements ahead
// of Kubernetes. It has no authentication or authorization, no admission, and no scheduler or
// kubelet: bind it to loopback. A server runs from start_server() to its destructor. Thread-safe.

#include "kindlb/apiserver/feature_gates.hpp"
#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::apiserver {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  ///< zero: choose a free one
  /// Whether kubeconfig() says https, with a certificate generated at start-up. The port accepts
  /// HTTP and HTTPS in either case.
  bool tls = false;
  FeatureGates gates;
  /// The ranges of cluster IPs, as --service-cluster-ip-range: one, or one of each family. The
  /// first is the default family of Services. Empty: 10.96.0.0/16.
  std::vector<core::Cidr> service_ranges;
  bool endpoint_slices = false;  ///< run an EndpointSlice controller
  std::string state_file;  ///< loaded at start-up if it exists, saved periodically; empty: none
  std::chrono::milliseconds save_every{5000};  ///< if something changed; and once at the end
  std::size_t history = 4096;          ///< changes per resource that a watch can resume from
  std::size_t max_connections = 4096;  ///< beyond, the longest idle one is closed
  std::size_t max_requests = 256;      ///< answered at a time, watches included; others queue
  std::size_t max_watches = 192;       ///< beyond: 429, so that other requests get a thread
  std::size_t max_body = 3U << 20U;    ///< bytes, as kube-apiserver
  /// How long a client may take to send the header of a request; the whole may take three times
  /// that.
  std::chrono::milliseconds header_timeout{10'000};
};

class Server {
 public:
  virtual ~Server() = default;

  virtual int port() const = 0;
  /// "http://127.0.0.1:8474", with TLS, too: for clients in this process.
  virtual std::string url() const = 0;
  /// A kubeconfig with one context. Its token is not checked.
  virtual std::string kubeconfig() const = 0;
  /// End all watches, close all connections and save the state. Idempotent; the destructor calls
  /// it.
  virtual void stop() = 0;
};

/// Start a server that accepts connections when this returns. Unavailable: the address cannot be
/// bound; Invalid: the state file cannot be read.
core::Result<std::unique_ptr<Server>> start_server(const ServerOptions& options);

/// Parse "127.0.0.1:8474" or "[::1]:8474" into host and port. Nothing: neither form.
std::optional<std::pair<std::string, int>> parse_listen(const std::string& text);

}  // namespace kindlb::apiserver

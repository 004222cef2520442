#pragma once
// The embedded API server: a small Kubernetes API over HTTP, for one machine and nobody else. It
// keeps Services and what belongs to them, with the semantics of the proposals this project serves;
// no pods run behind it. Lives from start() to its destructor; safe from any thread.

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
  int port = 0;  ///< zero: any free one
  /// The kubeconfig says https, with a certificate made for this run. The port takes both anyway.
  bool tls = false;
  FeatureGates gates;
  /// Where cluster IPs come from: one range, or one of each family; the first is the default.
  std::vector<core::Cidr> service_ranges;
  bool endpoint_slices = false;  ///< keep them for Services with selectors
  std::string state_file;  ///< loaded at the start if it exists, saved while running; empty: none
  std::chrono::milliseconds save_every{5000};  ///< if something changed; and at the end
  std::size_t history = 4096;          ///< how many changes of a resource can be watched from
  std::size_t max_connections = 4096;  ///< beyond, the one that is idle the longest is closed
  std::size_t max_requests = 256;      ///< answered at a time; more wait for one to end
  std::size_t max_watches = 192;       ///< more are refused (429), so that others get through
  std::size_t max_body = 3U << 20U;    ///< bytes, as with the real server
  /// How long a client may take to send a request's header; three times that for all of it.
  std::chrono::milliseconds header_timeout{10'000};
};

class Server {
 public:
  virtual ~Server() = default;

  virtual int port() const = 0;
  /// "http://127.0.0.1:8474", also with TLS: for this machine's own use.
  virtual std::string url() const = 0;
  /// For kubectl: a context, no credentials that count.
  virtual std::string kubeconfig() const = 0;
  /// Ends every watch and connection. The destructor does the same.
  virtual void stop() = 0;
};

/// Listens already when it returns. Unavailable: the address is taken; Invalid: the state file.
core::Result<std::unique_ptr<Server>> start_server(const ServerOptions& options);

/// "127.0.0.1:8474" or "[::1]:8474"; nothing when it is neither.
std::optional<std::pair<std::string, int>> parse_listen(const std::string& text);

}  // namespace kindlb::apiserver

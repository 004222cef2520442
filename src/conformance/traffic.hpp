#pragma once
// Clients of the load balancers under test, on this machine. Every call has a time limit.

#include "kindlb/base/udp_socket.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/core/result.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::conformance {

/// Return the body of GET `path`, over a new connection.
core::Result<std::string> http_get(const core::Target& target, const std::string& path,
                                   std::chrono::milliseconds limit, std::stop_token stop);

/// Sends datagrams from one source port for as long as it lives, so that a load balancer or
/// kube-proxy sees one flow.
class UdpClient {
 public:
  explicit UdpClient(const core::Target& target);

  /// Send one datagram and return the first that comes back. Late answers to earlier requests are
  /// discarded first.
  core::Result<std::string> exchange(const std::string& request, std::chrono::milliseconds limit);

 private:
  core::Target target_;
  base::UdpSocket socket_;
};

/// Return the source address that this machine uses towards that target. Sends nothing.
std::optional<core::IpAddress> local_address(const core::Target& target);

/// Whether the address is in a range that is not routed on the internet.
bool is_private(const core::IpAddress& address);

/// Return the preferred address of each family, the overall preferred one first. Empty: the name
/// does not resolve (yet).
std::vector<core::IpAddress> resolve(const std::string& host);

}  // namespace kindlb::conformance

#pragma once
// Clients of the load balancers under test, from this machine. Every call is bounded.

#include "kindlb/core/proxy_config.hpp"
#include "kindlb/core/result.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::conformance {

/// The body of GET `path` over a connection of its own.
core::Result<std::string> http_get(const core::Target& target, const std::string& path,
                                   std::chrono::milliseconds limit, std::stop_token stop);

/// Datagrams from one source port for as long as it lives.
class UdpClient {
 public:
  explicit UdpClient(const core::Target& target);
  ~UdpClient();
  UdpClient(const UdpClient&) = delete;
  UdpClient& operator=(const UdpClient&) = delete;

  /// One datagram out, and the first that comes back.
  core::Result<std::string> exchange(const std::string& request, std::chrono::milliseconds limit);

 private:
  core::Target target_;
  int fd_ = -1;
};

/// The address this machine sends from to that target.
std::optional<core::IpAddress> local_address(const core::Target& target);

/// Of the ranges that are not routed on the internet.
bool is_private(const core::IpAddress& address);

/// The best address of each family, the best of all first. None: the name is not known (yet).
std::vector<core::IpAddress> resolve(const std::string& host);

}  // namespace kindlb::conformance

#include "traffic.hpp"

#include "kindlb/base/errno_text.hpp"
#include "kindlb/http/client.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

Error failure(const core::Target& target, const std::string& what) {
  return {ErrorKind::Unavailable, "UDP " + target.text(), what};
}

core::IpAddress address_of(const sockaddr& name) {
  std::array<std::uint8_t, 16> bytes{};
  if (name.sa_family == AF_INET) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in&>(name).sin_addr, 4);
    return core::IpAddress::from_bytes(core::IpFamily::V4, bytes);
  }
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(name).sin6_addr, 16);
  return core::IpAddress::from_bytes(core::IpFamily::V6, bytes);
}
}  // namespace

Result<std::string> http_get(const core::Target& target, const std::string& path,
                             std::chrono::milliseconds limit, std::stop_token stop) {
  // A client of its own each time: connections must not be reused.
  auto client = http::make_client({.url = "http://" + target.text(), .connect_timeout = limit});
  if (!client) return client.error();
  auto answer = (*client)->send({.target = path, .timeout = limit}, std::move(stop));
  const auto operation = "TCP " + target.text();
  if (!answer) return Error{answer.error().kind, operation, answer.error().detail};
  if (answer->status != 200)
    return Error{http::kind_of_status(answer->status), operation,
                 "HTTP " + std::to_string(answer->status)};
  return std::move(answer->body);
}

UdpClient::UdpClient(const core::Target& target)
    : target_(target), socket_(target.address.text(), target.port) {}

Result<std::string> UdpClient::exchange(const std::string& request,
                                        std::chrono::milliseconds limit) {
  if (!socket_) return failure(target_, "no route from this machine");
  auto answer = socket_.exchange(request, limit);
  if (answer) return std::move(*answer);
  if (errno != ETIMEDOUT) return failure(target_, base::errno_text());
  return failure(target_, "no answer within " + std::to_string(limit.count()) + " ms");
}

std::vector<core::IpAddress> resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::vector<core::IpAddress> out;
  for (const auto* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    const auto address = address_of(*one->ai_addr);
    if (std::ranges::find(out, address.family(), &core::IpAddress::family) == out.end())
      out.push_back(address);
  }
  return out;
}

std::optional<core::IpAddress> local_address(const core::Target& target) {
  const auto source = base::UdpSocket(target.address.text(), target.port).source();
  return source ? core::IpAddress::parse(*source) : std::nullopt;
}

/// RFC 1918, carrier-grade NAT, link-local, loopback, and their IPv6 counterparts.
bool is_private(const core::IpAddress& address) {
  constexpr std::array kRanges = {"10.0.0.0/8",    "172.16.0.0/12",  "192.168.0.0/16",
                                  "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8",
                                  "fc00::/7",      "fe80::/10",      "::1/128"};
  return std::ranges::any_of(kRanges, [&](const char* text) {
    const auto range = core::Cidr::parse(text);
    return range && range->contains(address);
  });
}

}  // namespace kindlb::conformance

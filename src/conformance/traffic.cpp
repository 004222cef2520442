#include "traffic.hpp"

#include "kindlb/http/client.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

constexpr int kMaxStaleAnswers = 64;

std::pair<sockaddr_storage, socklen_t> name_of(const core::Target& target) {
  sockaddr_storage storage{};
  const auto& bytes = target.address.bytes();
  if (target.address.family() == core::IpFamily::V4) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(target.port);
    std::memcpy(&name.sin_addr, bytes.data(), sizeof name.sin_addr);
    std::memcpy(&storage, &name, sizeof name);
    return {storage, sizeof name};
  }
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(target.port);
  std::memcpy(&name.sin6_addr, bytes.data(), sizeof name.sin6_addr);
  std::memcpy(&storage, &name, sizeof name);
  return {storage, sizeof name};
}

Error failure(const core::Target& target, const std::string& what) {
  return {ErrorKind::Unavailable, "UDP " + target.text(), what};
}

std::string errno_text() {
  return std::generic_category().message(errno);
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

/// Connected, so that the kernel reports ICMP errors ("connection refused") and filters out
/// datagrams from other sources.
UdpClient::UdpClient(const core::Target& target) : target_(target) {
  const auto [name, size] = name_of(target);
  fd_ = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd_ >= 0 && connect(fd_, reinterpret_cast<const sockaddr*>(&name), size) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

UdpClient::~UdpClient() {
  if (fd_ >= 0) close(fd_);
}

Result<std::string> UdpClient::exchange(const std::string& request,
                                        std::chrono::milliseconds limit) {
  if (fd_ < 0) return failure(target_, "no route from this machine");
  std::array<char, 2048> answer{};
  for (int late = 0; late < kMaxStaleAnswers; ++late)  // answers to earlier questions
    if (recv(fd_, answer.data(), answer.size(), MSG_DONTWAIT) < 0) break;
  if (send(fd_, request.data(), request.size(), MSG_NOSIGNAL) < 0)
    return failure(target_, errno_text());
  pollfd ready{fd_, POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(limit.count())) <= 0)
    return failure(target_, "no answer within " + std::to_string(limit.count()) + " ms");
  const auto got = recv(fd_, answer.data(), answer.size(), MSG_DONTWAIT);
  if (got < 0) return failure(target_, errno_text());
  return std::string(answer.data(), static_cast<std::size_t>(got));
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
  const auto [name, size] = name_of(target);
  const int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own{};
  socklen_t own_size = sizeof own;
  const bool known = fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0;
  if (fd >= 0) close(fd);
  if (!known) return std::nullopt;
  return address_of(reinterpret_cast<const sockaddr&>(own));
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

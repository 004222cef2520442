#include "probe.hpp"

#include "kindlb/base/fd.hpp"
#include "kindlb/http/client.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

namespace kindlb::demo {

namespace {
constexpr std::chrono::milliseconds kAnswerTimeout{5000};
constexpr std::string_view kPayload = "hello";

/// A UDP socket that is connected to an address, which chooses the route but sends nothing.
class UdpSocket {
 public:
  UdpSocket(const core::IpAddress& address, std::uint16_t port) {
    const auto& bytes = address.bytes();
    if (address.family() == core::IpFamily::V4) {
      sockaddr_in name{};
      name.sin_family = AF_INET;
      name.sin_port = htons(port);
      std::memcpy(&name.sin_addr, bytes.data(), sizeof name.sin_addr);
      open(name);
    } else {
      sockaddr_in6 name{};
      name.sin6_family = AF_INET6;
      name.sin6_port = htons(port);
      std::memcpy(&name.sin6_addr, bytes.data(), sizeof name.sin6_addr);
      open(name);
    }
  }

  /// The source address that the kernel chose; it shows which network the packets would take.
  std::optional<core::IpAddress> source() const {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (!connected_ || getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
      return {};
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address =
        name.ss_family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&name)->sin_addr)
            : &reinterpret_cast<const sockaddr_in6*>(&name)->sin6_addr;
    inet_ntop(name.ss_family, address, text.data(), text.size());
    return core::IpAddress::parse(text.data());
  }

  std::string exchange(std::string_view payload) const {
    if (::send(fd_.get(), payload.data(), payload.size(), 0) < 0) return {};
    pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, static_cast<int>(kAnswerTimeout.count())) <= 0) return {};
    std::array<char, 2048> answer{};
    const auto got = ::recv(fd_.get(), answer.data(), answer.size(), 0);
    return got > 0 ? std::string(answer.data(), static_cast<std::size_t>(got)) : std::string();
  }

 private:
  template <typename Name>
  void open(const Name& name) {
    const auto* address = reinterpret_cast<const sockaddr*>(&name);
    fd_.reset(socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    connected_ = fd_ && connect(fd_.get(), address, sizeof name) == 0;
  }

  base::Fd fd_;
  bool connected_ = false;
};

bool is_routed_into(const UdpSocket& socket, const docker::Network& network) {
  const auto source = socket.source();
  return source && std::ranges::any_of(network.subnets, [&](const auto& subnet) {
           return subnet.cidr.contains(*source);
         });
}

std::string host_text(const core::IpAddress& address) {
  return address.family() == core::IpFamily::V6 ? "[" + address.text() + "]" : address.text();
}

/// The command that is shown is what a user could type; the request that is sent is equivalent.
Probe probe_tcp(const core::IpAddress& address, std::uint16_t port) {
  const auto host = host_text(address) + (port == 80 ? "" : ":" + std::to_string(port));
  Probe out{.command = "curl http://" + host + "/hostname", .answer = {}};
  const auto client =
      http::make_client({.url = "http://" + host_text(address) + ":" + std::to_string(port)});
  if (!client) return {out.command, client.error().detail};
  const auto answer = (*client)->send({.target = "/hostname", .timeout = kAnswerTimeout});
  out.good = answer && answer->status == 200;
  if (!answer)
    out.answer = answer.error().detail;
  else
    out.answer = answer->body.substr(0, answer->body.find_first_of("\r\n"));
  return out;
}

/// Echo pods send datagrams back unchanged.
Probe probe_udp(const core::IpAddress& address, std::uint16_t port) {
  Probe out{.command = "echo " + std::string(kPayload) + " | nc -u -w1 " + address.text() + " " +
                       std::to_string(port),
            .answer = {}};
  const auto answer = UdpSocket(address, port).exchange(kPayload);
  out.good = answer == kPayload;
  out.answer = out.good ? answer : "no answer";
  return out;
}

/// Wait until this machine routes the address into the network. On a new network, the kernel spends
/// up to two seconds on duplicate address detection before it uses its own IPv6 address there.
bool await_route(const core::IpAddress& address, const docker::Network& network) {
  const auto deadline = std::chrono::steady_clock::now() + kAnswerTimeout;
  while (!is_routed_into(UdpSocket(address, 1), network)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

Probe probe_port(const core::IpAddress& address, const core::PortStatus& port,
                 const docker::Network& network) {
  if (!await_route(address, network))
    return {"reach " + address.text(), "this machine has no route into the docker network"};
  return port.protocol == core::Protocol::Tcp ? probe_tcp(address, port.port)
                                              : probe_udp(address, port.port);
}
}  // namespace

std::vector<Probe> probe(const core::Service& service, const docker::Network& network) {
  std::vector<Probe> out;
  for (const auto& ingress : service.status.ingress) {
    const auto address = core::IpAddress::parse(ingress.ip);
    if (!address) continue;
    for (const auto& port : ingress.ports)
      if (port.error.empty()) out.push_back(probe_port(*address, port, network));
  }
  return out;
}

}  // namespace kindlb::demo

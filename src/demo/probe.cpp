#include "probe.hpp"

#include "kindlb/base/udp_socket.hpp"
#include "kindlb/http/client.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace kindlb::demo {

namespace {
constexpr std::chrono::milliseconds kAnswerTimeout{5000};
constexpr std::string_view kPayload = "hello";

/// Whether packets to the address would take the network: then their source address is in it.
bool is_routed_into(const core::IpAddress& address, const docker::Network& network) {
  const auto text = base::UdpSocket(address.text(), 1).source();
  const auto source = text ? core::IpAddress::parse(*text) : std::nullopt;
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
  const auto answer = base::UdpSocket(address.text(), port).exchange(kPayload, kAnswerTimeout);
  out.good = answer == kPayload;
  out.answer = out.good ? *answer : "no answer";
  return out;
}

/// Wait until this machine routes the address into the network. On a new network, the kernel spends
/// up to two seconds on duplicate address detection before it uses its own IPv6 address there.
bool await_route(const core::IpAddress& address, const docker::Network& network) {
  const auto deadline = std::chrono::steady_clock::now() + kAnswerTimeout;
  while (!is_routed_into(address, network)) {
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

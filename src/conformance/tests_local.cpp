// externalTrafficPolicy: Local. Connectivity is required of every provider; that pods see the
// client's address is a feature.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
constexpr std::size_t kAttempts = 20;
constexpr std::size_t kMostConnections = 200;
constexpr std::size_t kMostNodes = 3;

Wish local_wish() {
  Wish wish;
  wish.balancer = {{"externalTrafficPolicy", "Local"}};
  return wish;
}

/// "10.0.0.1:1234" and "[fd00::1]:1234" without the port.
std::string host_of(const std::string& peer) {
  auto host = peer.substr(0, peer.rfind(':'));
  if (host.starts_with("[")) host = host.substr(1, host.size() - 2);
  return host;
}

/// What the pod of a load balancer says when asked from inside another pod.
core::Result<std::string> ask_from_pod(Scene& scene, const Balancer& web,
                                       const std::string& request) {
  const auto& world = scene.world();
  const auto pod = fmt::format("{}-client:{}", scene.test().name, world.settings.workload.tcp_port);
  const auto path = fmt::format("{}/proxy/dial?request={}&protocol=http&host={}&port={}&tries=1",
                                world.path("pods", pod), request,
                                http::url_escaped(web.addresses().front().text()), kWeb.number);
  const auto text = world.objects.text(path, world.stop);
  if (!text) return text.error();
  const auto answer = Json::parse(*text, nullptr, false);
  const auto& responses = list_at(answer, "/responses");
  if (!responses.empty() && responses.front().is_string())
    return responses.front().get<std::string>();
  return core::Error{core::ErrorKind::Unavailable, "ask from inside a pod", *text};
}

/// Where kube-proxy of the client's node takes part, it may not know the address yet.
End asked_from_pod(Scene& scene, const Balancer& web, const std::string& request,
                   std::string& into) {
  std::string why;
  const auto lag = scene.world().settings.limits.conditions;
  auto end = scene.until("answered inside the cluster", lag, [&] {
    auto answer = ask_from_pod(scene, web, request);
    if (answer)
      into = *answer;
    else
      why = answer.error().detail;
    return answer.ok();
  });
  if (end && !why.empty()) end->reason += ": " + why;
  return end;
}

End publish_with_client(Scene& scene, Balancer& web) {
  if (auto end = web.publish(local_wish())) return end;  // first: it may end the test
  return scene.start_pod("client");
}
}  // namespace

Outcome local_connects(Scene& scene) {
  Balancer web(scene);
  if (auto end = web.publish(local_wish())) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  if (auto end = web.all_answer(kAttempts)) return *end;
  return {};
}

Outcome local_source_ip(Scene& scene) {
  Balancer web(scene);
  if (auto end = web.publish(local_wish())) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  const auto peer = web.ask(kWeb, "/clientip");
  if (!peer) return scene.fail(peer.error().text());
  const auto seen = host_of(*peer);
  const auto own = local_address(web.target(kWeb));
  if (own && own->text() == seen) return {};
  const auto words = fmt::format("the pod saw {}, this machine sent from {}", seen,
                                 own ? own->text() : "an unknown address");
  const auto& nodes = scene.world().node_addresses;
  const bool of_cluster =
      std::ranges::find(nodes, seen) != nodes.end() || seen == web.addresses().front().text();
  const auto address = core::IpAddress::parse(seen);
  const bool behind_nat = address && !of_cluster && !is_private(*address);
  if (!behind_nat) return scene.fail(words);
  scene.note(words + ": taken for address translation on the way");
  return {};
}

Outcome local_from_pods(Scene& scene) {
  Balancer web(scene);
  std::string answer;
  if (auto end = publish_with_client(scene, web)) return *end;
  if (auto end = asked_from_pod(scene, web, "hostname", answer)) return *end;
  return {};
}

Outcome local_from_pods_source_ip(Scene& scene) {
  Balancer web(scene);
  std::string peer;
  if (auto end = publish_with_client(scene, web)) return *end;
  if (auto end = asked_from_pod(scene, web, "clientip", peer)) return *end;
  const auto& world = scene.world();
  const auto pod = world.objects.get(world.path("pods", scene.test().name + "-client"), world.stop);
  if (!pod) return scene.fail(pod.error());
  for (const auto& ip : list_at(*pod, "/status/podIPs"))
    if (ip.value("ip", "") == host_of(peer)) return {};
  return scene.fail("the pod saw " + host_of(peer) + ", which is not the client pod's address");
}

Outcome local_only_nodes_with_endpoints(Scene& scene) {
  const auto& nodes = scene.world().nodes;
  if (auto end = scene.start_pod("first", nodes.front())) return *end;
  Balancer web(scene);
  auto wish = local_wish();
  wish.selector = scene.selector();
  if (auto end = web.publish(wish)) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  // Nodes without an endpoint drop what reaches them: every connection shows it.
  if (auto end = web.all_answer(kAttempts)) return *end;
  if (auto end = scene.start_pod("second", nodes.back())) return *end;
  if (auto end = scene.remove_pod("first")) return *end;
  // Where health checks of nodes tell a load balancer of this, they take their time, too.
  if (auto end = scene.until("served by the other node alone", 2 * scene.patience(), [&] {
        std::set<std::string> now;
        return !web.names(kAttempts, now) &&
               now == std::set<std::string>{scene.test().name + "-second"};
      }))
    return *end;
  return {};
}

Outcome local_all_nodes_with_endpoints(Scene& scene) {
  const auto& nodes = scene.world().nodes;
  const auto count = std::min(nodes.size(), kMostNodes);
  for (std::size_t i = 0; i < count; ++i)
    if (auto end = scene.start_pod(fmt::format("on-{}", i), nodes[i])) return *end;
  Balancer web(scene);
  auto wish = local_wish();
  wish.selector = scene.selector();
  if (auto end = web.publish(wish)) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  if (auto end = web.all_answer(kAttempts)) return *end;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < kMostConnections && seen.size() < count; ++i)
    if (auto end = web.names(1, seen)) return *end;
  if (seen.size() == count) return {};
  return scene.fail(fmt::format("{} connections reached pods on {} of {} nodes", kMostConnections,
                                seen.size(), count));
}

}  // namespace kindlb::conformance

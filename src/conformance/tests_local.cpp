// externalTrafficPolicy: Local. Connectivity is required of every provider; that pods see the
// client's address is the feature ExternalTrafficPolicy, which a provider may lack. The KEP
// therefore splits each test of Kubernetes' e2e suite in two.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
constexpr std::size_t kAttempts = 20;
constexpr std::size_t kMostConnections = 200;
constexpr std::size_t kMostNodes = 3;

ServiceTemplate local_template() {
  ServiceTemplate wanted;
  wanted.load_balancer_spec = {{"externalTrafficPolicy", "Local"}};
  return wanted;
}

/// Strip the port of "10.0.0.1:1234" and "[fd00::1]:1234".
std::string host_of(const std::string& peer) {
  auto host = peer.substr(0, peer.rfind(':'));
  if (host.starts_with("[")) host = host.substr(1, host.size() - 2);
  return host;
}

struct SeenAddress {
  ClientAddress kind = ClientAddress::Preserved;
  std::string words;  ///< "the pod saw ...; this machine sent from ..."
};

/// Ask a pod which address it sees. A public address that is neither ours nor the cluster's may be
/// due to address translation between this machine and the load balancer, which no provider can
/// undo. A private one can only come from the cluster's side.
core::Result<SeenAddress> seen_address(TestContext& context, ServiceUnderTest& web) {
  const auto peer = web.query(kWeb, "/clientip");
  if (!peer) return peer.error();
  const auto seen = host_of(*peer);
  const auto own = local_address(web.target(kWeb));
  if (own && own->text() == seen) return SeenAddress{};
  const auto words = fmt::format("the pod saw {}; this machine sent from {}", seen,
                                 own ? own->text() : "an unknown address");
  const auto& nodes = context.env().node_addresses;
  const bool of_cluster =
      std::ranges::find(nodes, seen) != nodes.end() || seen == web.addresses().front().text();
  const auto address = core::IpAddress::parse(seen);
  const bool behind_nat = address && !of_cluster && !is_private(*address);
  return SeenAddress{behind_nat ? ClientAddress::Translated : ClientAddress::Lost, words};
}

/// Check that the provider admits it if pods cannot see their clients. Without conditions it has no
/// way to.
EarlyEnd check_admitted(TestContext& context, ServiceUnderTest& web) {
  if (!context.writes_conditions()) return std::nullopt;
  const auto seen = seen_address(context, web);
  if (!seen) return context.fail(seen.error().text());
  const auto service = web.fetch();
  if (!service) return context.fail(service.error());
  const auto judgement = judge_local(seen->kind, observed_status(*service));
  if (judgement.step == Step::Fail) return context.fail(judgement.reason + ": " + seen->words);
  if (!judgement.reason.empty()) context.note(judgement.reason);
  return std::nullopt;
}

/// Return the answer to a request that another pod sends to the load balancer (agnhost's /dial).
core::Result<std::string> query_from_pod(TestContext& context, const ServiceUnderTest& web,
                                         const std::string& request) {
  const auto& env = context.env();
  const auto pod = fmt::format("{}-client:{}", context.test().name, env.settings.workload.tcp_port);
  const auto path = fmt::format("{}/proxy/dial?request={}&protocol=http&host={}&port={}&tries=1",
                                env.path("pods", pod), request,
                                http::url_escaped(web.addresses().front().text()), kWeb.number);
  const auto text = env.objects.text(path, env.stop);
  if (!text) return text.error();
  const auto answer = Json::parse(*text, nullptr, false);
  const auto& responses = json::list_at(answer, {"responses"});
  if (!responses.empty() && responses.front().is_string())
    return responses.front().get<std::string>();
  return core::Error{core::ErrorKind::Unavailable, "send a request from a pod", *text};
}

/// Retries, since kube-proxy on the client's node may not know the address yet.
EarlyEnd await_answer_in_pod(TestContext& context, const ServiceUnderTest& web,
                             const std::string& request, std::string& into) {
  std::string why;
  const auto lag = context.env().settings.limits.conditions;
  auto end = context.wait_for("an answer inside the cluster", lag, [&] {
    auto answer = query_from_pod(context, web, request);
    if (answer)
      into = *answer;
    else
      why = answer.error().detail;
    return answer.ok();
  });
  if (end && !why.empty()) end->reason += ": " + why;
  return end;
}

EarlyEnd publish_with_client(TestContext& context, ServiceUnderTest& web) {
  if (auto end = web.publish(local_template())) return end;  // first: it may skip the test
  return context.start_pod("client");
}
}  // namespace

/// Every provider must serve Local, whether or not it preserves the client's address. If it does
/// not, the Service must be Degraded.
Outcome local_connects(TestContext& context) {
  ServiceUnderTest web(context);
  if (auto end = web.publish(local_template())) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  if (auto end = web.check_connections(kAttempts)) return *end;
  if (auto end = check_admitted(context, web)) return *end;
  return {};
}

/// The pod must see this machine's address, or one that address translation may be the reason of.
Outcome local_source_ip(TestContext& context) {
  ServiceUnderTest web(context);
  if (auto end = web.publish(local_template())) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  const auto seen = seen_address(context, web);
  if (!seen) return context.fail(seen.error().text());
  if (seen->kind == ClientAddress::Lost) return context.fail(seen->words);
  if (seen->kind == ClientAddress::Translated)
    context.note(seen->words + "; assumed to be address translation on the way");
  return {};
}

Outcome local_from_pods(TestContext& context) {
  ServiceUnderTest web(context);
  std::string answer;
  if (auto end = publish_with_client(context, web)) return *end;
  if (auto end = await_answer_in_pod(context, web, "hostname", answer)) return *end;
  return {};
}

/// Inside the cluster there is no address translation to excuse another address.
Outcome local_from_pods_source_ip(TestContext& context) {
  ServiceUnderTest web(context);
  std::string peer;
  if (auto end = publish_with_client(context, web)) return *end;
  if (auto end = await_answer_in_pod(context, web, "clientip", peer)) return *end;
  const auto& env = context.env();
  const auto pod = env.objects.get(env.path("pods", context.test().name + "-client"), env.stop);
  if (!pod) return context.fail(pod.error());
  for (const auto& ip : json::list_at(*pod, {"status", "podIPs"}))
    if (ip.value("ip", "") == host_of(peer)) return {};
  return context.fail("the pod saw " + host_of(peer) + ", which is not the client pod's address");
}

/// Traffic must reach only nodes that have an endpoint: first one node, then, after the pod has
/// moved, only the other.
Outcome local_only_nodes_with_endpoints(TestContext& context) {
  const auto& nodes = context.env().nodes;
  if (auto end = context.start_pod("first", nodes.front())) return *end;
  ServiceUnderTest web(context);
  auto wanted = local_template();
  wanted.selector = context.selector();
  if (auto end = web.publish(wanted)) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  // Nodes without an endpoint drop connections, so every one must work.
  if (auto end = web.check_connections(kAttempts)) return *end;
  if (auto end = context.start_pod("second", nodes.back())) return *end;
  if (auto end = context.remove_pod("first")) return *end;
  // Twice the limit: the load balancer may learn of this by health checks, after kube-proxy.
  if (auto end = context.wait_for(
          "only the pod on the other node to answer", 2 * context.propagation_timeout(), [&] {
            std::set<std::string> now;
            return !web.collect_pod_names(kAttempts, now) &&
                   now == std::set<std::string>{context.test().name + "-second"};
          }))
    return *end;
  return {};
}

/// Traffic must reach every node that has an endpoint. With 200 connections over at most three
/// nodes, a fair load balancer misses one with a probability that is not worth a retry.
Outcome local_all_nodes_with_endpoints(TestContext& context) {
  const auto& nodes = context.env().nodes;
  const auto count = std::min(nodes.size(), kMostNodes);
  for (std::size_t i = 0; i < count; ++i)
    if (auto end = context.start_pod(fmt::format("on-{}", i), nodes[i])) return *end;
  ServiceUnderTest web(context);
  auto wanted = local_template();
  wanted.selector = context.selector();
  if (auto end = web.publish(wanted)) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  if (auto end = web.check_connections(kAttempts)) return *end;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < kMostConnections && seen.size() < count; ++i)
    if (auto end = web.collect_pod_names(1, seen)) return *end;
  if (seen.size() == count) return {};
  return context.fail(fmt::format("{} connections reached pods on {} of {} nodes", kMostConnections,
                                  seen.size(), count));
}

}  // namespace kindlb::conformance

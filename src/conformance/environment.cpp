#include "environment.hpp"

#include "kindlb/base/sleep.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Clock = std::chrono::steady_clock;

constexpr const char* kPublicImage = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";
constexpr const char* kServer = "server";
constexpr int kReplicas = 2;

bool takes_pods(const Json& node) {
  const auto tainted = [](const Json& taint) {
    return taint.value("effect", "") != "PreferNoSchedule";
  };
  if (node.value("/spec/unschedulable"_json_pointer, false)) return false;
  if (std::ranges::any_of(json::list_at(node, {"spec", "taints"}), tainted)) return false;
  return std::ranges::any_of(json::list_at(node, {"status", "conditions"}), [](const Json& one) {
    return one.value("type", "") == "Ready" && one.value("status", "") == "True";
  });
}

/// Return the name of an agnhost image that this node already has.
std::string agnhost_on(const Json& node) {
  for (const auto& image : json::list_at(node, {"status", "images"}))
    for (const auto& name : json::list_at(image, {"names"}))
      if (name.is_string() && name.get<std::string>().find("/agnhost:") != std::string::npos)
        return name.get<std::string>();
  return {};
}

Result<void> inspect_nodes(Environment& env) {
  const auto listed = env.objects.get("/api/v1/nodes", env.stop);
  // With existing pods, node addresses only help to recognise address translation.
  if (!listed && !env.own_pods() && listed.error().kind == ErrorKind::Denied) return {};
  if (!listed) return listed.error();
  env.image = env.settings.workload.image;
  for (const auto& node : json::list_at(*listed, {"items"})) {
    if (env.image.empty()) env.image = agnhost_on(node);
    for (const auto& address : json::list_at(node, {"status", "addresses"}))
      env.node_addresses.push_back(address.value("address", ""));
    if (takes_pods(node)) env.nodes.push_back(node.value("/metadata/name"_json_pointer, ""));
  }
  if (env.image.empty()) env.image = kPublicImage;
  return {};
}

/// Whether all replicas run the current template and are available, and no old one is left.
bool rolled_out(const Json& deployment) {
  const auto wanted = json::number_at(deployment, {"spec", "replicas"});
  return json::number_at(deployment, {"status", "observedGeneration"}) >=
             json::number_at(deployment, {"metadata", "generation"}) &&
         json::number_at(deployment, {"status", "updatedReplicas"}) == wanted &&
         json::number_at(deployment, {"status", "replicas"}) == wanted &&
         json::number_at(deployment, {"status", "availableReplicas"}) == wanted;
}

/// The pods that the tests share, spread over nodes, so that one faulty node does not decide a
/// test.
Json deployment(const Environment& env) {
  const Json app{{"app", kServer}};
  auto pods = pod_template(env, app);
  pods["spec"]["topologySpreadConstraints"] =
      Json::array({{{"maxSkew", 1},
                    {"topologyKey", "kubernetes.io/hostname"},
                    {"whenUnsatisfiable", "ScheduleAnyway"},
                    {"labelSelector", {{"matchLabels", app}}}}});
  return {{"metadata", {{"name", kServer}, {"labels", env.labels()}}},
          {"spec",
           {{"replicas", kReplicas}, {"selector", {{"matchLabels", app}}}, {"template", pods}}}};
}

Result<void> await_deployment(Environment& env, const std::string& name) {
  const auto begin = Clock::now();
  std::string state = "no status yet";
  while (Clock::now() - begin < kPodTimeout) {
    env.listener.waiting("preparation", "waiting for the pods to be ready", elapsed_since(begin));
    const auto found = env.objects.get(env.apps_path("deployments", name), env.stop);
    if (found && rolled_out(*found)) return {};
    if (found) state = found->value("status", Json::object()).dump();
    if (!base::sleep_for(env.stop, kPoll))
      return Error{ErrorKind::Cancelled, "start the pods", "stopped"};
  }
  return Error{
      ErrorKind::Timeout, "start pods of " + env.image,
      "not ready in time; can the nodes pull this image? --image names another. Status: " + state};
}

Result<void> make_pods(Environment& env) {
  if (env.nodes.empty())
    return Error{ErrorKind::Unavailable, "start pods",
                 "the cluster has no ready and schedulable node; --workload-selector uses existing "
                 "pods"};
  env.listener.message(fmt::format("namespace {}: starting {} pods from the image {}", env.ns,
                                   kReplicas, env.image));
  const Json ns{{"metadata", {{"name", env.ns}, {"labels", env.labels()}}}};
  // Not cancelled by a stop: the server might still create what the run would not know of.
  if (const auto made = env.objects.create("/api/v1/namespaces", ns); !made) return made.error();
  const auto made = env.objects.create(env.apps_path("deployments"), deployment(env));
  if (!made) return made.error();
  env.selector = {{"app", kServer}};
  env.pods = kReplicas;
  return await_deployment(env, kServer);
}

Result<void> find_pods(Environment& env) {
  const auto& wanted = env.settings.workload.selector;
  env.ns = env.settings.workload.ns;
  const auto equals = wanted.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{ErrorKind::Invalid, "use --workload-selector " + wanted,
                 "not a label; write name=value"};
  env.selector = {{wanted.substr(0, equals), wanted.substr(equals + 1)}};
  const auto pods =
      env.objects.get(env.path("pods") + "?labelSelector=" + http::url_escaped(wanted), env.stop);
  if (!pods) return pods.error();
  env.pods = json::list_at(*pods, {"items"}).size();
  if (env.pods == 0)
    return Error{ErrorKind::NotFound, "use --workload-selector " + wanted,
                 "no pod in namespace " + env.ns + " has that label"};
  return {};
}
}  // namespace

std::string Environment::path(const std::string& kind, const std::string& name) const {
  const auto collection = "/api/v1/namespaces/" + http::url_escaped(ns) + "/" + kind;
  return name.empty() ? collection : collection + "/" + http::url_escaped(name);
}

std::string Environment::apps_path(const std::string& kind, const std::string& name) const {
  const auto collection = "/apis/apps/v1/namespaces/" + http::url_escaped(ns) + "/" + kind;
  return name.empty() ? collection : collection + "/" + http::url_escaped(name);
}

Json Environment::labels(const Json& more) const {
  Json out{{kRunLabel, run}};
  out.update(more);
  return out;
}

milliseconds elapsed_since(Clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
}

Result<void> prepare(Environment& env) {
  if (auto inspected = inspect_nodes(env); !inspected) return inspected;
  return env.own_pods() ? make_pods(env) : find_pods(env);
}

/// The grace period exceeds the shutdown delay, so that the kubelet does not kill a pod that is
/// still meant to answer. A service account token is not mounted: the pods are servers on a port
/// that the whole network may reach.
Json pod_template(const Environment& env, const Json& labels, int shutdown_delay) {
  const auto& workload = env.settings.workload;
  Json arguments{"netexec", fmt::format("--http-port={}", workload.tcp_port),
                 fmt::format("--udp-port={}", workload.udp_port)};
  if (shutdown_delay > 0) arguments.push_back(fmt::format("--delay-shutdown={}", shutdown_delay));
  const Json probe{{"httpGet", {{"path", "/hostname"}, {"port", workload.tcp_port}}},
                   {"periodSeconds", 1},
                   {"timeoutSeconds", 5}};
  const Json container{{"name", "agnhost"},
                       {"image", env.image},
                       {"imagePullPolicy", "IfNotPresent"},
                       {"args", arguments},
                       {"readinessProbe", probe}};
  return {{"metadata", {{"labels", env.labels(labels)}}},
          {"spec",
           {{"containers", Json::array({container})},
            {"terminationGracePeriodSeconds", shutdown_delay + 5},
            {"automountServiceAccountToken", false}}}};
}

/// Restricted to nodes by affinity, which is how the DaemonSet controller pins each pod itself.
Json daemon_set(const Environment& env, const std::string& name,
                const std::vector<std::string>& nodes, int shutdown_delay) {
  const Json app{{"app", name}};
  auto terms = Json::array();
  for (const auto& node : nodes) {
    const Json field{{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({node})}};
    terms.push_back({{"matchFields", Json::array({field})}});
  }
  auto pods = pod_template(env, app, shutdown_delay);
  pods["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms", terms}};
  return {{"metadata", {{"name", name}, {"labels", env.labels()}}},
          {"spec",
           {{"selector", {{"matchLabels", app}}},
            {"updateStrategy", {{"rollingUpdate", {{"maxUnavailable", 0}, {"maxSurge", 1}}}}},
            {"template", pods}}}};
}

}  // namespace kindlb::conformance

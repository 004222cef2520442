#include "environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

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
  if (std::ranges::any_of(list_at(node, "/spec/taints"), tainted)) return false;
  return std::ranges::any_of(list_at(node, "/status/conditions"), [](const Json& one) {
    return one.value("type", "") == "Ready" && one.value("status", "") == "True";
  });
}

/// The name of an agnhost that this node has already.
std::string agnhost_on(const Json& node) {
  for (const auto& image : list_at(node, "/status/images"))
    for (const auto& name : list_at(image, "/names"))
      if (name.is_string() && name.get<std::string>().find("/agnhost:") != std::string::npos)
        return name.get<std::string>();
  return {};
}

Result<void> look_at_nodes(World& world) {
  const auto listed = world.objects.get("/api/v1/nodes", world.stop);
  // Beside others' pods, nodes only help to tell address translation.
  if (!listed && !world.own_pods() && listed.error().kind == ErrorKind::Denied) return {};
  if (!listed) return listed.error();
  world.image = world.settings.workload.image;
  for (const auto& node : list_at(*listed, "/items")) {
    if (world.image.empty()) world.image = agnhost_on(node);
    for (const auto& address : list_at(node, "/status/addresses"))
      world.node_addresses.push_back(address.value("address", ""));
    if (takes_pods(node)) world.nodes.push_back(node.value("/metadata/name"_json_pointer, ""));
  }
  if (world.image.empty()) world.image = kPublicImage;
  return {};
}

std::int64_t number_at(const Json& object, const char* pointer) {
  const Json::json_pointer at(pointer);
  return object.contains(at) && object.at(at).is_number_integer()
             ? object.at(at).get<std::int64_t>()
             : 0;
}

/// Every replica is of the current template and available, and no other is left.
bool rolled_out(const Json& deployment) {
  const auto wanted = number_at(deployment, "/spec/replicas");
  return number_at(deployment, "/status/observedGeneration") >=
             number_at(deployment, "/metadata/generation") &&
         number_at(deployment, "/status/updatedReplicas") == wanted &&
         number_at(deployment, "/status/replicas") == wanted &&
         number_at(deployment, "/status/availableReplicas") == wanted;
}

/// The pods that tests share. On different nodes where there are several: what one node does must
/// not decide a test.
Json deployment(const World& world) {
  const Json app{{"app", kServer}};
  auto pods = pod_template(world, app);
  pods["spec"]["topologySpreadConstraints"] =
      Json::array({{{"maxSkew", 1},
                    {"topologyKey", "kubernetes.io/hostname"},
                    {"whenUnsatisfiable", "ScheduleAnyway"},
                    {"labelSelector", {{"matchLabels", app}}}}});
  return {{"metadata", {{"name", kServer}, {"labels", world.labels()}}},
          {"spec",
           {{"replicas", kReplicas}, {"selector", {{"matchLabels", app}}}, {"template", pods}}}};
}

Result<void> await_deployment(World& world, const std::string& name) {
  const auto begin = Clock::now();
  std::string state = "nothing seen yet";
  while (Clock::now() - begin < kPodPatience) {
    world.listener.waits("preparation", "waiting until the pods ready", elapsed_since(begin));
    const auto found = world.objects.get(world.path_of_apps("deployments", name), world.stop);
    if (found && rolled_out(*found)) return {};
    if (found) state = found->value("status", Json::object()).dump();
    if (!pause(world.stop, kPoll)) return Error{ErrorKind::Cancelled, "start the pods", "stopped"};
  }
  return Error{ErrorKind::Timeout, "start pods of " + world.image,
               "not ready in time; can the nodes get that image (--image)? " + state};
}

Result<void> make_pods(World& world) {
  if (world.nodes.empty())
    return Error{ErrorKind::Unavailable, "start pods",
                 "no node of the cluster is ready for them; --workload-selector uses pods that are "
                 "there"};
  world.listener.say(
      fmt::format("namespace {}: starting {} pods of {}", world.ns, kReplicas, world.image));
  const Json ns{{"metadata", {{"name", world.ns}, {"labels", world.labels()}}}};
  // Not cut short by a stop: what the server makes all the same, nobody would know of.
  if (const auto made = world.objects.create("/api/v1/namespaces", ns); !made) return made.error();
  const auto made = world.objects.create(world.path_of_apps("deployments"), deployment(world));
  if (!made) return made.error();
  world.selector = {{"app", kServer}};
  world.pods = kReplicas;
  return await_deployment(world, kServer);
}

Result<void> find_pods(World& world) {
  const auto& wanted = world.settings.workload.selector;
  world.ns = world.settings.workload.ns;
  const auto equals = wanted.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{ErrorKind::Invalid, "use --workload-selector " + wanted, "write name=value"};
  world.selector = {{wanted.substr(0, equals), wanted.substr(equals + 1)}};
  const auto pods = world.objects.get(
      world.path("pods") + "?labelSelector=" + http::url_escaped(wanted), world.stop);
  if (!pods) return pods.error();
  world.pods = list_at(*pods, "/items").size();
  if (world.pods == 0)
    return Error{ErrorKind::NotFound, "use --workload-selector " + wanted,
                 "no pod in namespace " + world.ns + " has that label"};
  return {};
}
}  // namespace

const Json& list_at(const Json& object, const char* pointer) {
  static const Json kNone = Json::array();
  const Json::json_pointer at(pointer);
  if (!object.contains(at)) return kNone;
  const auto& found = object.at(at);
  return found.is_array() ? found : kNone;
}

std::string text_at(const Json& object, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!object.contains(at)) return "";
  const auto& found = object.at(at);
  return found.is_string() ? found.get<std::string>() : "";
}

std::string World::path(const std::string& kind, const std::string& name) const {
  const auto collection = "/api/v1/namespaces/" + http::url_escaped(ns) + "/" + kind;
  return name.empty() ? collection : collection + "/" + http::url_escaped(name);
}

std::string World::path_of_apps(const std::string& kind, const std::string& name) const {
  const auto collection = "/apis/apps/v1/namespaces/" + http::url_escaped(ns) + "/" + kind;
  return name.empty() ? collection : collection + "/" + http::url_escaped(name);
}

Json World::labels(const Json& more) const {
  Json out{{kRunLabel, run}};
  out.update(more);
  return out;
}

milliseconds elapsed_since(Clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
}

bool pause(const std::stop_token& stop, milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

Result<void> prepare(World& world) {
  if (const auto looked = look_at_nodes(world); !looked) return looked;
  return world.own_pods() ? make_pods(world) : find_pods(world);
}

Json pod_template(const World& world, const Json& labels, int lingers) {
  const auto& workload = world.settings.workload;
  Json arguments{"netexec", fmt::format("--http-port={}", workload.tcp_port),
                 fmt::format("--udp-port={}", workload.udp_port)};
  if (lingers > 0) arguments.push_back(fmt::format("--delay-shutdown={}", lingers));
  const Json probe{{"httpGet", {{"path", "/hostname"}, {"port", workload.tcp_port}}},
                   {"periodSeconds", 1},
                   {"timeoutSeconds", 5}};
  const Json container{{"name", "agnhost"},
                       {"image", world.image},
                       {"imagePullPolicy", "IfNotPresent"},
                       {"args", arguments},
                       {"readinessProbe", probe}};
  return {{"metadata", {{"labels", world.labels(labels)}}},
          {"spec",
           {{"containers", Json::array({container})},
            {"terminationGracePeriodSeconds", lingers + 5},
            {"automountServiceAccountToken", false}}}};
}

Json daemons(const World& world, const std::string& name, const std::vector<std::string>& nodes,
             int lingers) {
  const Json app{{"app", name}};
  auto terms = Json::array();
  for (const auto& node : nodes) {
    const Json field{{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({node})}};
    terms.push_back({{"matchFields", Json::array({field})}});
  }
  auto pods = pod_template(world, app, lingers);
  pods["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms", terms}};
  return {{"metadata", {{"name", name}, {"labels", world.labels()}}},
          {"spec",
           {{"selector", {{"matchLabels", app}}},
            {"updateStrategy", {{"rollingUpdate", {{"maxUnavailable", 0}, {"maxSurge", 1}}}}},
            {"template", pods}}}};
}

}  // namespace kindlb::conformance

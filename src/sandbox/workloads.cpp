#include "kindlb/sandbox/workloads.hpp"

#include "kindlb/base/random_name.hpp"
#include "kindlb/base/sleep.hpp"
#include "kindlb/json/json.hpp"
#include "kindlb/log/log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::sandbox {

namespace {
using json::Json;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kNode = "sandbox";
constexpr const char* kManager = "?fieldManager=kindlb-workloads";
constexpr auto kInterval = 300ms;
/// Long enough to be seen by an audience, short enough for a talk.
constexpr auto kRestartDelay = 3s;
constexpr auto kStartTimeout = 20s;

Json get(http::Client& api, const std::string& path) {
  const auto answer = api.send({.target = path});
  if (!answer || answer->status != 200) return nullptr;
  return json::parse_bounded(answer->body);
}

bool write(http::Client& api, const std::string& method, const std::string& path, const Json& body,
           const char* type = "application/json") {
  const auto answer = api.send({.method = method,
                                .target = path + kManager,
                                .headers = {{"Content-Type", type}},
                                .body = body.dump()});
  if (answer && answer->status / 100 == 2) return true;
  log::debug("{} {}: {}", method, path, answer ? answer->body : answer.error().text());
  return false;
}

bool patch(http::Client& api, const std::string& path, const Json& body) {
  return write(api, "PATCH", path, body, "application/merge-patch+json");
}

std::string annotation(const Json& object, const char* name) {
  return json::text_at(object, {"metadata", "annotations", name});
}

int replicas(http::Client& api) {
  const auto text = annotation(get(api, "/api/v1/namespaces/default"), kReplicasAnnotation);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
    return kDefaultReplicas;
  return std::min(std::atoi(text.c_str()), kMaxReplicas);
}

Json pod_of(const std::string& name) {
  const Json ports{{{"name", "http"}, {"containerPort", 8080}, {"protocol", "TCP"}},
                   {{"name", "udp"}, {"containerPort", 8080}, {"protocol", "UDP"}}};
  return {{"metadata", {{"name", name}, {"labels", {{"app", "echo"}}}}},
          {"spec",
           {{"nodeName", kNode},
            {"containers", {{{"name", "echo"}, {"image", "kindlb-echo"}, {"ports", ports}}}}}}};
}

Json status_of(const EchoContainer& container, bool ready, int restarts) {
  const auto text = [](bool value) { return value ? "True" : "False"; };
  Json status{
      {"phase", "Running"},
      {"reason", container.running ? Json() : Json("Error")},
      {"conditions",
       {{{"type", "Ready"}, {"status", text(ready)}},
        {{"type", "ContainersReady"}, {"status", text(ready)}}}},
      {"containerStatuses", {{{"name", "echo"}, {"ready", ready}, {"restartCount", restarts}}}}};
  if (!container.ipv4) return status;
  status["podIP"] = container.ipv4->text();
  status["podIPs"] = Json::array({{{"ip", container.ipv4->text()}}});
  if (container.ipv6) status["podIPs"].push_back({{"ip", container.ipv6->text()}});
  return status;
}

/// Whether the merge patch `wanted` would change nothing: every write wakes all watchers.
bool already_holds(const Json& now, const Json& wanted) {
  auto after = now.is_object() ? now : Json::object();
  after.merge_patch(wanted);
  return after == now;
}
}  // namespace

Workloads::Workloads(Containers& containers, std::shared_ptr<http::Client> api)
    : containers_(containers), api_(std::move(api)) {}

void Workloads::start(const std::stop_token& stop) {
  register_node();
  const auto deadline = Clock::now() + kStartTimeout;
  while (!reconcile() && !stop.stop_requested() && Clock::now() < deadline)
    std::this_thread::sleep_for(20ms);
  thread_ = std::jthread([this](const std::stop_token& ended) { run(ended); });
}

void Workloads::run(const std::stop_token& stop) {
  while (base::sleep_for(stop, kInterval)) reconcile();
}

void Workloads::register_node() {
  Json addresses{{{"type", "Hostname"}, {"address", kNode}}};
  for (const auto& address : containers_.node_addresses())
    addresses.push_back({{"type", "InternalIP"}, {"address", address}});
  const Json node{{"metadata", {{"name", kNode}, {"labels", {{"kubernetes.io/hostname", kNode}}}}},
                  {"status",
                   {{"addresses", addresses},
                    {"conditions", {{{"type", "Ready"}, {"status", "True"}}}},
                    {"nodeInfo", {{"kubeletVersion", "sandbox"}}}}}};
  if (get(*api_, std::string("/api/v1/nodes/") + kNode).is_object())
    patch(*api_, std::string("/api/v1/nodes/") + kNode + "/status", {{"status", node["status"]}});
  else
    write(*api_, "POST", "/api/v1/nodes", node);
}

void Workloads::sync_pod(const EchoContainer& container, const Json& pod) {
  const auto path = std::string(kPods) + "/" + container.name;
  if (annotation(pod, kKillAnnotation) == "true") {
    (void)containers_.kill(container);
    patch(*api_, path, {{"metadata", {{"annotations", {{kKillAnnotation, nullptr}}}}}});
  }
  const bool ready = container.running && annotation(pod, kUnreadyAnnotation) != "true";
  const auto status = status_of(container, ready, restarts_[container.name]);
  if (!already_holds(json::map_at(pod, {"status"}), status))
    patch(*api_, path + "/status", {{"status", status}});
  restart_if_stopped(container);
}

void Workloads::restart_if_stopped(const EchoContainer& container) {
  if (container.running) {
    stopped_at_.erase(container.name);
  } else if (Clock::now() - stopped_at_.try_emplace(container.name, Clock::now()).first->second >
             kRestartDelay) {
    if (containers_.restart(container)) ++restarts_[container.name];
  }
}

bool Workloads::reconcile() {
  const auto containers = containers_.workloads();
  const auto listed = get(*api_, std::string(kPods) + "?labelSelector=app%3Decho");
  if (!containers || !listed.is_object()) return false;
  std::map<std::string, Json> pods;
  for (const auto& pod : json::list_at(listed, {"items"}))
    pods[json::text_at(pod, {"metadata", "name"})] = pod;

  bool in_sync = true;
  for (const auto& [name, container] : *containers) {
    const auto pod = pods.find(name);
    if (pod == pods.end()) {
      (void)containers_.remove(container);
      in_sync = false;
      continue;
    }
    sync_pod(container, pod->second);
  }
  const auto wanted = static_cast<std::size_t>(replicas(*api_));
  for (auto pod = pods.rbegin(); pod != pods.rend() && pods.size() > wanted;) {
    write(*api_, "DELETE", std::string(kPods) + "/" + pod->first, Json::object());
    pods.erase(std::prev(pod.base()));
    pod = pods.rbegin();
    in_sync = false;
  }
  std::vector<std::string> missing;
  for (const auto& [name, pod] : pods)
    if (containers->count(name) == 0) missing.push_back(name);
  containers_.start_all(missing);
  for (auto have = pods.size(); have < wanted; ++have) {
    write(*api_, "POST", kPods, pod_of("echo-" + base::random_name(5)));
    in_sync = false;
  }
  return in_sync && missing.empty();
}

}  // namespace kindlb::sandbox

#include "test_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
using Clock = std::chrono::steady_clock;

constexpr const char* kRound = "kindlb.dev/round";

bool is_ending(const Json& pod) {
  return pod.contains("/metadata/deletionTimestamp"_json_pointer);
}

/// Of the template that a pod was made from; the first one has no number.
std::string round_of(const Json& pod) {
  return pod.value("/metadata/annotations"_json_pointer, Json::object()).value(kRound, "0");
}

bool is_ready(const Json& pod) {
  const auto conditions = pod.value("/status/conditions"_json_pointer, Json::array());
  return std::ranges::any_of(conditions, [](const Json& one) {
    return one.value("type", "") == "Ready" && one.value("status", "") == "True";
  });
}
}  // namespace

Scene::Scene(World& world, const Test& test) : world_(world), test_(test) {}

Scene::~Scene() {
  for (const auto& path : made_) (void)world_.objects.remove_now(path);
}

void Scene::sees(const std::string& state) {
  if (state == seen_) return;
  seen_ = state;
  world_.listener.sees(test_.name, state);
}

bool Scene::waits(const std::string& what, milliseconds waited) const {
  world_.listener.waits(test_.name, what, waited);
  return pause(kPoll);
}

Outcome Scene::fail(const std::string& why) const {
  if (world_.stop.stop_requested()) return {Verdict::Stopped, "stopped"};
  if (world_.provider == Provider::Silent && test_.optional && !supported_)
    return {Verdict::Skip,
            why + "; without conditions nobody can tell whether that is unsupported"};
  return {Verdict::Fail, why};
}

Outcome Scene::fail(const core::Error& error) const {
  if (world_.stop.stop_requested()) return {Verdict::Stopped, "stopped"};
  return {Verdict::Fail, error.text()};
}

End Scene::until(const std::string& what, milliseconds limit,
                 const std::function<bool()>& holds) const {
  const auto begin = Clock::now();
  while (!holds()) {
    const auto waited = elapsed_since(begin);
    if (waited >= limit) return fail(fmt::format("not {} after {} s", what, limit.count() / 1000));
    if (!waits("waiting until " + what, waited)) return fail("stopped");
  }
  world_.listener.waits(test_.name, "", {});
  return std::nullopt;
}

std::string Scene::pod_path(const std::string& name) const {
  return world_.path("pods", test_.name + "-" + name);
}

End Scene::start_pod(const std::string& name, const std::string& node) {
  auto pod = pod_template(world_, selector());
  pod["metadata"]["name"] = test_.name + "-" + name;
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  const auto path = pod_path(name);
  made_.push_back(path);
  core::Error refusal;
  const auto created = [&] {
    const auto made = world_.objects.create(world_.path("pods"), pod);
    if (!made) refusal = made.error();
    // The namespace's service account comes a moment after the namespace.
    return made.ok() || refusal.kind != core::ErrorKind::Denied;
  };
  if (auto end = until("allowed to create a pod", world_.settings.limits.conditions, created)) {
    end->reason += ": " + refusal.detail;
    return end;
  }
  if (!refusal.operation.empty() && refusal.kind != core::ErrorKind::Denied) return fail(refusal);
  return until("pod " + name + " ready", kPodPatience, [&] {
    const auto found = world_.objects.get(path, world_.stop);
    return found && is_ready(*found);
  });
}

End Scene::remove_pod(const std::string& name) {
  const auto path = pod_path(name);
  if (const auto done = world_.objects.remove(path, world_.stop); !done) return fail(done.error());
  return until("pod " + name + " gone", kPodPatience, [&] {
    const auto found = world_.objects.get(path, world_.stop);
    return !found && found.error().kind == core::ErrorKind::NotFound;
  });
}

std::string Scene::pods_path() const {
  return world_.path("pods") + "?labelSelector=" + http::url_escaped("app=" + test_.name);
}

End Scene::start_daemons(std::size_t most_nodes, int lingers) {
  auto nodes = world_.nodes;
  if (nodes.size() > most_nodes) nodes.resize(most_nodes);
  const auto made = world_.objects.create(world_.path_of_apps("daemonsets"),
                                          daemons(world_, test_.name, nodes, lingers));
  if (!made) return fail(made.error());
  daemons_ = nodes.size();
  made_.push_back(world_.path_of_apps("daemonsets", test_.name));
  made_.push_back(pods_path());  // after what would make new ones; they would linger
  return await_daemons(0);
}

End Scene::roll_daemons(int round) {
  const Json annotations{{kRound, std::to_string(round)}};
  const Json changes{{"spec", {{"template", {{"metadata", {{"annotations", annotations}}}}}}}};
  const auto path = world_.path_of_apps("daemonsets", test_.name);
  if (const auto done = world_.objects.patch(path, changes, world_.stop); !done)
    return fail(done.error());
  return await_daemons(round);
}

/// The DaemonSet's own status does not tell: it counts pods that are ending, too.
End Scene::await_daemons(int round) const {
  const auto is_up = [&](const Json& pod) {
    return !is_ending(pod) && is_ready(pod) && round_of(pod) == std::to_string(round);
  };
  return until(round == 0 ? "the pods ready" : "the pods replaced", kPodPatience, [&] {
    const auto pods = world_.objects.get(pods_path(), world_.stop);
    return pods && std::ranges::count_if(list_at(*pods, "/items"), is_up) ==
                       static_cast<std::ptrdiff_t>(daemons_);
  });
}

End Scene::await_replaced() {
  return until("the old pods gone", kPodPatience, [&] {
    const auto left = world_.objects.get(pods_path(), world_.stop);
    return left && list_at(*left, "/items").size() == daemons_;
  });
}

}  // namespace kindlb::conformance

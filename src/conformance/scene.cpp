#include "conformance/scene.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
using Clock = std::chrono::steady_clock;

bool is_ready(const Json& pod) {
  const auto conditions = pod.value("/status/conditions"_json_pointer, Json::array());
  return std::ranges::any_of(conditions, [](const Json& one) {
    return one.value("type", "") == "Ready" && one.value("status", "") == "True";
  });
}
}  // namespace

Scene::Scene(World& world, const Test& test) : world_(world), test_(test) {}

Scene::~Scene() {
  for (const auto& path : made_) (void)world_.objects.remove(path + "?gracePeriodSeconds=0");
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
  if (world_.provider == Provider::Silent && test_.optional)
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
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
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
    const auto made = world_.objects.create(world_.path("pods"), pod, world_.stop);
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

End Scene::start_deployment(int replicas, int lingers) {
  const auto made = world_.objects.create(
      world_.deployment_path(), deployment(world_, test_.name, replicas, lingers), world_.stop);
  if (!made) return fail(made.error());
  made_.push_back(world_.deployment_path(test_.name));
  return until("the pods ready", kPodPatience, [&] {
    const auto found = world_.objects.get(world_.deployment_path(test_.name), world_.stop);
    return found && rolled_out(*found);
  });
}

End Scene::roll_deployment(int round) {
  const Json annotations{{"kindlb.dev/round", std::to_string(round)}};
  const Json changes{{"spec", {{"template", {{"metadata", {{"annotations", annotations}}}}}}}};
  const auto path = world_.deployment_path(test_.name);
  if (const auto done = world_.objects.patch(path, changes, world_.stop); !done)
    return fail(done.error());
  if (auto end = until("the pods replaced", kPodPatience, [&] {
        const auto found = world_.objects.get(path, world_.stop);
        return found && rolled_out(*found);
      }))
    return end;
  // Those that were replaced may still answer; what happens when they end is part of it.
  const auto pods = world_.path("pods") + "?labelSelector=" + kube::url_part("app=" + test_.name);
  return until("the old pods gone", kPodPatience, [&] {
    const auto left = world_.objects.get(pods, world_.stop);
    return left && std::ranges::none_of(left->value("items", Json::array()), [](const Json& pod) {
             return pod.contains("/metadata/deletionTimestamp"_json_pointer);
           });
  });
}

}  // namespace kindlb::conformance

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

/// Return the round of the template that a pod was created from; the first one has no annotation.
std::string round_of(const Json& pod) {
  return pod.value("/metadata/annotations"_json_pointer, Json::object()).value(kRound, "0");
}

ObservedVersion observed_version(const ServiceVersion& version, const std::string& wanted_class) {
  const auto& service = version.service;
  const bool asked = service.spec.type == core::ServiceType::LoadBalancer && !service.deleting &&
                     service.spec.load_balancer_class.value_or("") == wanted_class;
  return {observed_status(service), asked, version.follows};
}

bool is_ready(const Json& pod) {
  const auto conditions = pod.value("/status/conditions"_json_pointer, Json::array());
  return std::ranges::any_of(conditions, [](const Json& one) {
    return one.value("type", "") == "Ready" && one.value("status", "") == "True";
  });
}
}  // namespace

TestContext::TestContext(Environment& env, const Test& test) : env_(env), test_(test) {}

TestContext::~TestContext() {
  for (const auto& path : created_) (void)env_.objects.remove_now(path);
}

void TestContext::report_status(const std::string& state) {
  if (state == seen_) return;
  seen_ = state;
  env_.listener.status_changed(test_.name, state);
}

bool TestContext::report_and_wait(const std::string& what, milliseconds waited) const {
  env_.listener.waiting(test_.name, what, waited);
  return pause(kPoll);
}

std::vector<std::string> TestContext::broken_rules() const {
  std::vector<std::string> out;
  if (!writes_conditions()) return out;
  for (const auto& name : services_) {
    std::vector<ObservedVersion> versions;
    for (const auto& one : env_.watch->versions(name))
      versions.push_back(observed_version(one, env_.settings.load_balancer_class));
    for (auto& rule : judge_versions(versions)) out.push_back(rule + " (Service " + name + ")");
  }
  return out;
}

bool TestContext::missed_versions() const {
  return std::ranges::any_of(services_, [this](const std::string& name) {
    const auto versions = env_.watch->versions(name);
    return std::ranges::any_of(versions, [](const auto& one) { return !one.follows; });
  });
}

Outcome TestContext::fail(const std::string& why) const {
  if (env_.stop.stop_requested()) return {Verdict::Stopped, "stopped"};
  if (env_.provider == Provider::WithoutConditions && test_.optional && !supported_)
    return {Verdict::Skip, why + kCannotTell};
  return {Verdict::Fail, why};
}

Outcome TestContext::fail(const core::Error& error) const {
  if (env_.stop.stop_requested()) return {Verdict::Stopped, "stopped"};
  return {Verdict::Fail, error.text()};
}

EarlyEnd TestContext::wait_for(const std::string& what, milliseconds limit,
                               const std::function<bool()>& holds) const {
  const auto begin = Clock::now();
  while (!holds()) {
    const auto waited = elapsed_since(begin);
    if (waited >= limit)
      return fail(fmt::format("timed out after {} s waiting for {}", limit.count() / 1000, what));
    if (!report_and_wait("waiting for " + what, waited)) return fail("stopped");
  }
  env_.listener.waiting(test_.name, "", {});
  return std::nullopt;
}

std::string TestContext::pod_path(const std::string& name) const {
  return env_.path("pods", test_.name + "-" + name);
}

EarlyEnd TestContext::start_pod(const std::string& name, const std::string& node) {
  auto pod = pod_template(env_, selector());
  pod["metadata"]["name"] = test_.name + "-" + name;
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  const auto path = pod_path(name);
  created_.push_back(path);
  core::Error refusal;
  const auto created = [&] {
    const auto made = env_.objects.create(env_.path("pods"), pod);
    if (!made) refusal = made.error();
    // The API server denies pods until the namespace has its default service account.
    return made.ok() || refusal.kind != core::ErrorKind::Denied;
  };
  if (auto end = wait_for("permission to create a pod", env_.settings.limits.conditions, created)) {
    end->reason += ": " + refusal.detail;
    return end;
  }
  if (!refusal.operation.empty() && refusal.kind != core::ErrorKind::Denied) return fail(refusal);
  return wait_for("pod " + name + " to be ready", kPodTimeout, [&] {
    const auto found = env_.objects.get(path, env_.stop);
    return found && is_ready(*found);
  });
}

EarlyEnd TestContext::remove_pod(const std::string& name) {
  const auto path = pod_path(name);
  if (const auto done = env_.objects.remove(path, env_.stop); !done) return fail(done.error());
  return wait_for("pod " + name + " to be deleted", kPodTimeout, [&] {
    const auto found = env_.objects.get(path, env_.stop);
    return !found && found.error().kind == core::ErrorKind::NotFound;
  });
}

std::string TestContext::pods_path() const {
  return env_.path("pods") + "?labelSelector=" + http::url_escaped("app=" + test_.name);
}

EarlyEnd TestContext::start_daemon_set(std::size_t most_nodes, int shutdown_delay) {
  auto nodes = env_.nodes;
  if (nodes.size() > most_nodes) nodes.resize(most_nodes);
  const auto made = env_.objects.create(env_.apps_path("daemonsets"),
                                        daemon_set(env_, test_.name, nodes, shutdown_delay));
  if (!made) return fail(made.error());
  daemon_count_ = nodes.size();
  created_.push_back(env_.apps_path("daemonsets", test_.name));
  created_.push_back(pods_path());  // after the DaemonSet, which would replace them
  return await_daemon_set(0);
}

EarlyEnd TestContext::roll_daemon_set(int round) {
  const Json annotations{{kRound, std::to_string(round)}};
  const Json changes{{"spec", {{"template", {{"metadata", {{"annotations", annotations}}}}}}}};
  const auto path = env_.apps_path("daemonsets", test_.name);
  if (const auto done = env_.objects.patch(path, changes, env_.stop); !done)
    return fail(done.error());
  return await_daemon_set(round);
}

/// Counts the pods, because the DaemonSet's status includes those that are terminating.
EarlyEnd TestContext::await_daemon_set(int round) const {
  const auto is_up = [&](const Json& pod) {
    return !is_ending(pod) && is_ready(pod) && round_of(pod) == std::to_string(round);
  };
  return wait_for(round == 0 ? "the pods to be ready" : "the pods to be replaced", kPodTimeout,
                  [&] {
                    const auto pods = env_.objects.get(pods_path(), env_.stop);
                    return pods && std::ranges::count_if(json::list_at(*pods, {"items"}), is_up) ==
                                       static_cast<std::ptrdiff_t>(daemon_count_);
                  });
}

EarlyEnd TestContext::await_replaced() {
  return wait_for("the old pods to be deleted", kPodTimeout, [&] {
    const auto left = env_.objects.get(pods_path(), env_.stop);
    return left && json::list_at(*left, {"items"}).size() == daemon_count_;
  });
}

}  // namespace kindlb::conformance

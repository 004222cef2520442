#pragma once
// What all tests of a run share: the API, the namespace, the pods behind the Services, and the
// facts about provider and cluster. Filled in before the first test starts and read-only from then
// on, except for what is atomic: the tests' threads need no lock.

#include "kindlb/conformance/runner.hpp"
#include "kindlb/json/json.hpp"
#include "service_watch.hpp"

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::conformance {

using json::Json;

/// How long pods may take to start, and objects to disappear after their deletion.
inline constexpr std::chrono::minutes kPodTimeout{3};
inline constexpr milliseconds kPoll{200};

struct Environment {
  kube::Objects& objects;
  const Settings& settings;
  Listener& listener;  ///< serialized: any thread may call it
  std::stop_token stop;

  std::string run;  ///< value of kRunLabel on everything that is created
  std::string ns;
  Json selector;         ///< of the pods that the tests share
  std::size_t pods = 0;  ///< number of those pods
  std::string image;
  std::vector<std::string> nodes;  ///< those that are ready and schedulable
  std::vector<std::string> node_addresses;
  Provider provider = Provider::Unknown;
  ServiceWatch* watch = nullptr;             ///< set before the first Service is created
  std::atomic<bool> drops_features = false;  ///< the API server lacks requiredLoadBalancerFeatures

  /// Whether the run creates its own namespace and pods.
  bool own_pods() const { return settings.workload.selector.empty(); }
  /// "/api/v1/namespaces/NS/KIND[/NAME]"
  std::string path(const std::string& kind, const std::string& name = "") const;
  /// "/apis/apps/v1/namespaces/NS/KIND[/NAME]"
  std::string apps_path(const std::string& kind, const std::string& name = "") const;
  Json labels(const Json& more = Json::object()) const;
};

milliseconds elapsed_since(std::chrono::steady_clock::time_point begin);

/// Create the namespace and the pods, or find the existing pods.
core::Result<void> prepare(Environment& env);

/// Return the template (metadata.labels and spec) of a pod that answers. `shutdown_delay`: for how
/// many seconds it goes on answering after SIGTERM.
Json pod_template(const Environment& env, const Json& labels, int shutdown_delay = 0);
/// Return a DaemonSet that runs on these nodes and replaces each pod before it ends the old one.
Json daemon_set(const Environment& env, const std::string& name,
                const std::vector<std::string>& nodes, int shutdown_delay);

/// Selects what runs have created, by its label.
struct CreatedObjects {
  std::string run;  ///< empty: any run
  std::string ns;   ///< only Services in this namespace; empty: Services everywhere and namespaces
};
/// Delete it, Services first, and wait until it is gone.
core::Result<void> remove_run(kube::Objects& objects, const CreatedObjects& created,
                              const std::function<void(const std::string&)>& say,
                              const std::stop_token& stop);

}  // namespace kindlb::conformance

#pragma once
// What all tests of a run share: the API, the namespace, the pods behind the Services, and what is
// known of provider and cluster. Filled before the first test starts; then read only, but for what
// is atomic.

#include "kindlb/conformance/runner.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::conformance {

using Json = nlohmann::json;

/// How long pods may take to start, and things to go once they were deleted.
inline constexpr std::chrono::minutes kPodTimeout{3};
inline constexpr milliseconds kPoll{200};

struct Environment {
  kube::Objects& objects;
  const Settings& settings;
  Listener& listener;  ///< may be told from any thread
  std::stop_token stop;

  std::string run;  ///< value of the label on everything made
  std::string ns;
  Json selector;         ///< of the pods that all tests may use
  std::size_t pods = 0;  ///< how many these are
  std::string image;
  std::vector<std::string> nodes;  ///< that take pods
  std::vector<std::string> node_addresses;
  Provider provider = Provider::Unknown;
  std::atomic<bool> drops_features = false;  ///< the API has no requiredLoadBalancerFeatures

  bool own_pods() const { return settings.workload.selector.empty(); }
  /// "/api/v1/namespaces/NS/KIND[/NAME]"
  std::string path(const std::string& kind, const std::string& name = "") const;
  /// "/apis/apps/v1/namespaces/NS/KIND[/NAME]"
  std::string apps_path(const std::string& kind, const std::string& name = "") const;
  Json labels(const Json& more = Json::object()) const;
};

/// The list under a path of keys; an empty one when it is not there.
const Json& list_at(const Json& object, const char* pointer);
/// The text there; an empty one when it is not there.
std::string text_at(const Json& object, const char* pointer);

milliseconds elapsed_since(std::chrono::steady_clock::time_point begin);
/// False when stopped meanwhile.
bool pause(const std::stop_token& stop, milliseconds time);

/// Namespace and pods, or a look at those that are there.
core::Result<void> prepare(Environment& env);

/// A pod that serves, as a template: metadata.labels and spec. `shutdown_delay`: seconds it goes on
/// answering after it was told to end.
Json pod_template(const Environment& env, const Json& labels, int shutdown_delay = 0);
/// A DaemonSet, on these nodes.
Json daemon_set(const Environment& env, const std::string& name,
                const std::vector<std::string>& nodes, int shutdown_delay);

/// What runs made, by its label.
struct CreatedObjects {
  std::string run;  ///< empty: of any run
  std::string ns;   ///< Services of this namespace alone; empty: everywhere, and namespaces, too
};
/// Deletes it, Services first, and waits until it is gone.
core::Result<void> remove_run(kube::Objects& objects, const CreatedObjects& created,
                              const std::function<void(const std::string&)>& say,
                              const std::stop_token& stop);

}  // namespace kindlb::conformance

#pragma once
// Keeps the echo pods in the API and the echo containers on the engine in step: what a ReplicaSet
// and a kubelet do on a real cluster, for one workload. The desired state is in the API, so kubectl
// can change it as well as `kindlb sandbox scale|kill|ready|unready`:
//   namespace default, annotation kindlb.dev/echo-replicas: the number of pods
//   pod, annotation kindlb.dev/unready: "true" takes it out of its Services
//   pod, annotation kindlb.dev/kill: "true" kills its container, once
//   deleting a pod: another one takes its place
// A container that has stopped is shown as not ready for a moment and then started again.

#include "kindlb/http/client.hpp"
#include "kindlb/sandbox/containers.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

namespace kindlb::sandbox {

inline constexpr const char* kReplicasAnnotation = "kindlb.dev/echo-replicas";
inline constexpr const char* kUnreadyAnnotation = "kindlb.dev/unready";
inline constexpr const char* kKillAnnotation = "kindlb.dev/kill";
inline constexpr int kDefaultReplicas = 2;
inline constexpr int kMaxReplicas = 50;

/// Level-triggered: every pass reads pods and containers anew and takes the steps that are due, so
/// a failed step is simply due again. The passes run on start()'s caller first and on a thread of
/// their own afterwards, never at the same time.
class Workloads {
 public:
  Workloads(Containers& containers, std::shared_ptr<http::Client> api);
  /// Register the node, wait for the pods to run (20 s at most), and go on in the background until
  /// destruction.
  void start(const std::stop_token& stop);

 private:
  void run(const std::stop_token& stop);
  /// Do one pass; return true if nothing was left to do.
  bool reconcile();
  void register_node();
  /// Apply a pod's annotations to its container, and the container's state to the pod's status.
  void sync_pod(const EchoContainer& container, const nlohmann::json& pod);
  void restart_if_stopped(const EchoContainer& container);

  Containers& containers_;
  std::shared_ptr<http::Client> api_;
  std::map<std::string, std::chrono::steady_clock::time_point> stopped_at_;  ///< by pod
  std::map<std::string, int> restarts_;                                      ///< by pod
  std::jthread thread_;
};

}  // namespace kindlb::sandbox

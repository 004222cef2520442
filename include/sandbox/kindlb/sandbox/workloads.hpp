#pragma once
// Pods for the echo containers, and containers for the pods: what a kubelet and a ReplicaSet do on
// a real cluster, for one workload. The wish lives in the API, so kubectl can change it as well:
//   namespace default, annotation kindlb.dev/echo-replicas: how many
//   pod, annotation kindlb.dev/unready: "true" takes it out of its Services
//   pod, annotation kindlb.dev/kill: "true" kills its container, once
//   deleting a pod: another one takes its place
// A container that died is shown as not ready for a moment and then started again.

#include "kindlb/http/client.hpp"
#include "kindlb/sandbox/containers.hpp"

#include <memory>
#include <stop_token>
#include <thread>

namespace kindlb::sandbox {

inline constexpr const char* kReplicasAnnotation = "kindlb.dev/echo-replicas";
inline constexpr const char* kUnreadyAnnotation = "kindlb.dev/unready";
inline constexpr const char* kKillAnnotation = "kindlb.dev/kill";
inline constexpr int kDefaultReplicas = 2;
inline constexpr int kMaxReplicas = 50;

class Workloads {
 public:
  Workloads(Containers& containers, std::shared_ptr<http::Client> api);
  /// Registers the node and waits until the pods run, for a while.
  void start(const std::stop_token& stop);
  void stop() { thread_ = {}; }

 private:
  void run(const std::stop_token& stop);
  /// True when everything is as it should be.
  bool reconcile();
  void register_node();
  /// What the API says about a pod becomes true of its container, and the other way round.
  void sync_pod(const EchoContainer& container, const std::string& pod_json);
  void restart_if_stopped(const EchoContainer& container);

  Containers& containers_;
  std::shared_ptr<http::Client> api_;
  std::map<std::string, std::chrono::steady_clock::time_point> stopped_at_;
  std::map<std::string, int> restarts_;
  std::jthread thread_;
};

}  // namespace kindlb::sandbox

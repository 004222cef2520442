#pragma once
// The Kubernetes API as far as a Service load balancer needs it. Each call blocks; all may be
// called from many threads. A uid that no longer matches (404, 409, or 422 on an apply) is
// NotFound: the object we meant is gone.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/http/client.hpp"
#include "kindlb/kube/config.hpp"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::kube {

/// What a release of a Service takes away, and nothing else.
struct ReleasePatch {
  core::ServiceKey key;
  std::string uid;
  /// Also our conditions, the annotation and .status.loadBalancer: the Service lives on (its type
  /// changed). Otherwise only the finalizer goes.
  bool clear_status = false;
};

class Api {
 public:
  virtual ~Api() = default;

  /// Git version of the server, e.g. "v1.36.3": also the cheapest proof that it answers.
  virtual core::Result<std::string> server_version(std::stop_token stop = {}) = 0;
  /// uid of namespace kube-system: tells a recreated cluster from its predecessor.
  virtual core::Result<std::string> cluster_uid() = 0;

  /// Server-side apply to /status with field manager `kindlb`, forced, uid as precondition.
  /// Gives the Service as it is afterwards.
  virtual core::Result<core::Service> apply_status(const core::StatusApply& apply) = 0;
  /// JSON patches with a test of uid and resourceVersion, repeated on conflict; co-owned fields are
  /// removed too. A Service that is gone counts as success.
  virtual core::Result<void> release(const ReleasePatch& patch) = 0;
  /// Creates an Event about the Service. `count`/series aggregation is the caller's business.
  virtual core::Result<void> emit(const core::Service& about, const core::EventNote& note) = 0;
};

/// What a watch tells: the whole state once listed, then single changes. Called on the reflector's
/// own threads, never concurrently for one resource.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void services_listed(std::vector<core::Service> all) = 0;
  virtual void service_changed(core::Service service) = 0;
  virtual void service_deleted(const core::ServiceKey& key) = 0;
  virtual void slices_listed(std::vector<core::EndpointSlice> all) = 0;
  virtual void slice_changed(core::EndpointSlice slice) = 0;
  /// Key of the slice itself: its namespace and name.
  virtual void slice_deleted(const std::string& ns, const std::string& name) = 0;
  virtual void nodes_listed(std::vector<core::Node> all) = 0;
  virtual void node_changed(core::Node node) = 0;
  virtual void node_deleted(const std::string& name) = 0;
  /// A list or watch failed; it is tried again by itself. `ok` again on the next success.
  virtual void watch_state(const std::string& resource, const core::Result<void>& state) = 0;
};

/// Three list-then-watch loops (Services, EndpointSlices, Nodes) that run until destroyed.
class Reflectors {
 public:
  virtual ~Reflectors() = default;
};

/// `cluster`: the name put into every ServiceKey.
std::shared_ptr<Api> make_api(std::shared_ptr<http::Client> client, std::string cluster);
std::unique_ptr<Reflectors> start_reflectors(std::shared_ptr<http::Client> client,
                                             std::string cluster, Observer& observer);

}  // namespace kindlb::kube

#pragma once
// The Kubernetes API as far as a Service load balancer needs it: read the cluster's identity, write
// the status of a Service, give a Service up, and emit Events. Not a general client (objects.hpp is
// closer to one), and reading is not here either: state arrives through the Reflectors below.
// Each call blocks for at most 15 seconds per request and may be made from many threads at once.
// A Service is identified by its uid, never by its name alone. A uid that no longer matches (404,
// 409, or 422 on an apply) is NotFound: the object the caller meant is gone, and a new one of the
// same name must not be written to.

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

/// What release() removes from a Service, and nothing else (docs/contract.md §1).
struct ReleasePatch {
  core::ServiceKey key;
  std::string uid;
  /// The Service lives on because its type or class changed: also remove our conditions, our
  /// annotation and .status.loadBalancer. Otherwise it is being deleted, and only the finalizer is
  /// removed.
  bool clear_status = false;
};

/// Thread-safe. Implementations keep no state between calls: every precondition (uid,
/// resourceVersion) travels with the request, so that a restart in between changes nothing.
class Api {
 public:
  virtual ~Api() = default;

  /// Return the git version of the server, e.g. "v1.36.3". Also the cheapest proof that it answers.
  virtual core::Result<std::string> server_version(std::stop_token stop = {}) = 0;
  /// Return the uid of namespace kube-system: it distinguishes a recreated cluster from its
  /// predecessor of the same name.
  virtual core::Result<std::string> cluster_uid() = 0;

  /// Apply to /status (server-side apply) with field manager `kindlb`, forced, with the uid as
  /// precondition. The apply must list every field we own: one that is left out is given up.
  /// Return the Service as it is afterwards.
  virtual core::Result<core::Service> apply_status(const core::StatusApply& apply) = 0;
  /// Remove our fields with JSON patches that test uid and resourceVersion, repeated on conflict.
  /// An apply without the fields would not do: it only gives up our share, and what another manager
  /// owns as well would stay. A Service that is gone counts as success. Idempotent.
  virtual core::Result<void> release(const ReleasePatch& patch) = 0;
  /// Create an Event about the Service, or increase the count of the one that already says the
  /// same about it. Success also when the namespace is being deleted and takes no more Events.
  virtual core::Result<void> emit(const core::Service& about, const core::EventNote& note) = 0;
};

/// Receives the state of the cluster: the whole of each resource once listed, then single changes.
/// Called on the reflectors' threads, never concurrently for one resource, but concurrently for two
/// different ones. A list replaces everything reported before: what it lacks no longer exists.
/// Changes may be repeated and may arrive late, so observers must be idempotent.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void services_listed(std::vector<core::Service> all) = 0;
  virtual void service_changed(core::Service service) = 0;
  virtual void service_deleted(const core::ServiceKey& key) = 0;
  virtual void slices_listed(std::vector<core::EndpointSlice> all) = 0;
  virtual void slice_changed(core::EndpointSlice slice) = 0;
  /// `ns` and `name` of the slice itself, not of its Service.
  virtual void slice_deleted(const std::string& ns, const std::string& name) = 0;
  virtual void nodes_listed(std::vector<core::Node> all) = 0;
  virtual void node_changed(core::Node node) = 0;
  virtual void node_deleted(const std::string& name) = 0;
  /// A list or watch of `resource` failed, or one object of it could not be read; the reflector
  /// retries by itself. Called with success after the next complete list.
  virtual void watch_state(const std::string& resource, const core::Result<void>& state) = 0;
};

/// Three list-then-watch loops (Services, EndpointSlices, Nodes), one thread each. They run until
/// destroyed; the destructor stops them within milliseconds and joins, after which the observer is
/// not called any more.
class Reflectors {
 public:
  virtual ~Reflectors() = default;
};

/// Make an Api that uses `client`. `cluster`: the name put into every ServiceKey.
std::shared_ptr<Api> make_api(std::shared_ptr<http::Client> client, std::string cluster);
/// Start to list and watch. `observer` must outlive the result.
std::unique_ptr<Reflectors> start_reflectors(const std::shared_ptr<http::Client>& client,
                                             const std::string& cluster, Observer& observer);

}  // namespace kindlb::kube

#pragma once
// Reconciles one Service at a time: gather what is known -> core::plan_service -> carry it out.
// Decides nothing itself: what to do is core's plan, and what follows from a failure is core's
// recovery.
//
// Threads and lifetime: lives on the loop's thread, and all methods are called there. A pass never
// waits: API writes go to an executor, proxies to the fleet. Their results come back as tasks that
// find the Service by key and uid again, since it may be gone or replaced by then.
//
// Invariants:
//  - Level-triggered. An event only marks a Service dirty, and the pass looks at everything anew.
//    Losing an event costs latency, never correctness.
//  - A Service is marked dirty by a change of itself, its EndpointSlices or any Node; by the fleet
//    (`changed`); by a change of its docker network; by the end of a write or release; and by
//    timers (retry, back-off, a plan that asks to be made again).
//  - No Service is planned before its cluster's objects are listed and the fleet is discovered, and
//    none gets a new address before open_allocation(): Services that have one come first.
//  - Order of writes (docs/contract.md §1): finalizer, annotation and conditions first; a proxy is
//    claimed only in a pass that sees them in the API's answer; Serving=True only after the proxy's
//    confirmation. On deletion the proxy goes first, then the finalizer.
//  - A pass while a write is under way still talks to the fleet, but leaves the API alone
//    (ServiceWrites); the write's end plans again.

#include "fleet/fleet.hpp"
#include "kindlb/base/clock.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/kube/api.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler/address_conflicts.hpp"
#include "reconciler/clusters.hpp"
#include "reconciler/dirty_queue.hpp"
#include "reconciler/retries.hpp"
#include "reconciler/service_writes.hpp"
#include "reconciler/store.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace kindlb::controller {

class Reconciler {
 public:
  struct Parts {
    Loop& loop;
    base::ThreadPool& api_work;
    Fleet& fleet;
    Networks& networks;
    core::Policy policy;
    const base::Clock& clock;  ///< of the loop
  };

  explicit Reconciler(Parts parts);

  /// Serve a cluster. If it is known already (its API moved), its objects stay until listed anew.
  /// `api` may be null until the API server answers: until then nothing of the cluster is planned.
  void add_cluster(const std::string& name, const std::string& network,
                   std::shared_ptr<kube::Api> api);
  /// Forget a cluster that no longer exists and release its proxies. Nothing is written to its API.
  void remove_cluster(const std::string& name);
  std::set<std::string> networks() const { return clusters_.networks(); }
  /// Stopped proxies are started again only while all nodes of the cluster run.
  void set_nodes_running(const std::string& name, bool running);
  /// Set the nodes whose containers are stopped, paused or gone. They get no traffic from now on,
  /// long before the API server notices.
  void set_halted_nodes(const std::set<std::string>& names);

  /// Change that cluster's objects by `edit`; the Services it returns are planned again.
  void update(const std::string& cluster, const std::function<Store::Keys(Store&)>& edit);
  void unit_changed(const std::string& unit);
  void claim_failed(const std::string& unit, const core::Error& why);
  void network_changed(const std::string& network);
  /// Retry at once what failed, instead of waiting for the back-off to pass.
  void retry_now();
  /// Plan every Service again, and remove proxies whose Service no longer exists.
  void plan_all();
  /// Allow new addresses. Called when every cluster has listed its Services, or when they had
  /// enough time for it: an address in a status must not be given to another Service
  /// (docs/contract.md §2).
  void open_allocation();

  /// Release every Service from now on, as if it were no longer ours; see `--on-exit delete`.
  void drain();
  bool drained() const;

 private:
  void reconcile_all(const DirtyQueue::Keys& keys);
  void reconcile(const core::ServiceKey& key);
  ServiceRecord& record_of(const core::Service& service);
  core::ServiceSnapshot snapshot_of(const Cluster& cluster, const core::Service& service,
                                    const ServiceRecord& record) const;
  void carry_out(const Cluster& cluster, const core::Service& service, ServiceRecord& record,
                 const core::ServiceSnapshot& snapshot, core::Plan plan);
  void write(const Cluster& cluster, const core::Service& service, const ServiceRecord& record,
             core::Plan plan);
  void written(const core::Service& answer, const core::Plan& plan);
  void note_not_kept(const core::Service& answer, const core::StatusApply& sent);
  void drive_fleet(const Cluster& cluster, const core::Service& service, const core::Plan& plan);
  void recover(const core::Service& service, ServiceRecord& record, const core::Plan& plan,
               const core::ProxyView& proxy);
  void plan_again(const core::ServiceKey& key, const std::string& uid);
  void retry_direct_path(const core::ServiceKey& key, const std::string& uid);
  void forget(const core::ServiceKey& key);
  void sweep_orphans();

  Parts parts_;
  Clusters clusters_;
  DirtyQueue queue_;
  Retries retries_;
  ServiceWrites writes_;
  AddressConflicts conflicts_;
  bool allocation_open_ = false;  ///< never closes again
  bool logged_ready_ = false;
  bool draining_ = false;
};

}  // namespace kindlb::controller

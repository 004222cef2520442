#pragma once
// Reconciles one Service at a time: gather what is known -> core::plan_service -> carry it out.
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
//    timers (retry, back-off, a plan that asks to be made again). However often that happens
//    before the next pass, the Service is planned once.
//  - No Service is planned before its cluster's objects are listed and the fleet is discovered, and
//    none gets a new address before open_allocation(): Services that have one come first.
//  - Order of writes (docs/contract.md §1): finalizer, annotation and conditions first; a proxy is
//    claimed only in a pass that sees them in the API's answer; Serving=True only after the proxy's
//    confirmation. On deletion the proxy goes first, then the finalizer.
//  - Per Service, at most one API write is under way (`writing` or `releasing`). A pass meanwhile
//    still talks to the fleet, but leaves the API alone; the write's end plans again.
//  - What an API server answers to a write goes to the store at once, so that the next pass does
//    not repeat the write while the watch is behind.

#include "fleet/fleet.hpp"
#include "kindlb/base/clock.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/kube/api.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler/store.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

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

  explicit Reconciler(Parts parts) : parts_(std::move(parts)) {}

  /// Serve a cluster. If it is known already (its API moved), its objects stay until listed anew.
  /// `api` may be null until the API server answers: until then nothing of the cluster is planned.
  void add_cluster(const std::string& name, const std::string& network,
                   std::shared_ptr<kube::Api> api);
  /// Forget a cluster that no longer exists and release its proxies. Nothing is written to its API.
  void remove_cluster(const std::string& name);
  bool serves(const std::string& name) const { return clusters_.contains(name); }
  std::set<std::string> networks() const;
  /// Stopped proxies are started again only while all nodes of the cluster run: before that, a
  /// proxy could be given a node's address and break the cluster (docs/contract.md §5).
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
  /// What this kindlb remembers about a Service between passes. Only what cannot be observed, so
  /// that losing it in a restart costs time, never an address.
  struct Record {
    std::string uid;         ///< a Service of the same name with another uid gets a new record
    std::string hash;        ///< of the fields last seen; a change resets failures and trouble
    Loop::TimePoint since;   ///< when `hash` was first seen
    bool writing = false;    ///< a status write is under way
    bool releasing = false;  ///< a release is under way
    std::string released;    ///< the resourceVersion that was released: not to be released twice
    core::ServiceMemory memory;
    unsigned failures = 0;  ///< in a row, for the back-off; reset by success or a change
    bool retry_scheduled = false;
    /// When the earliest timer plans again without an event.
    std::optional<Loop::TimePoint> replan_at;
  };

  /// A cluster and its Services. Records exist for Services that are or were ours.
  struct Cluster {
    std::string network;
    std::shared_ptr<kube::Api> api;
    Store store;
    bool nodes_running = true;  ///< all of them
    bool was_synced = false;    ///< the first complete listing has been seen
    std::map<core::ServiceKey, Record> records;
  };

  void mark_dirty(const core::ServiceKey& key);
  void reconcile_pending();
  void reconcile(const core::ServiceKey& key);
  void forget(Cluster& cluster, const core::ServiceKey& key);
  void replan_without_address(const std::string& network);
  Record& record_of(Cluster& cluster, const core::Service& service);
  core::ServiceSnapshot take_snapshot(const Cluster& cluster, const core::Service& service,
                                      const Record& record) const;
  std::map<core::IpFamily, core::AddressSpace> address_spaces(const Cluster& cluster,
                                                              const core::Service& service) const;
  void add_taken_addresses(const Cluster& cluster, const core::Service& service,
                           std::set<core::IpAddress>& taken) const;
  void carry_out(Cluster& cluster, const core::Service& service, Record& record, core::Plan plan);
  void recover(const core::Service& service, Record& record, const core::Plan& plan,
               const core::ProxyView& proxy);
  void plan_again(const core::ServiceKey& key, const std::string& uid);
  void retry_direct_path(const core::ServiceKey& key, const std::string& uid);
  void replan_after(const core::ServiceKey& key, Record& record, std::chrono::milliseconds delay);
  static std::chrono::milliseconds next_retry_delay(Record& record);
  void retry_later(const core::Service& service, Record& record);
  void write(Cluster& cluster, const core::Service& service, core::Plan plan);
  void written(const core::ServiceKey& key, const std::string& uid,
               const core::Result<core::Service>& result);
  void store_answer(Record& record, const core::Service& answer);
  void released(const core::Service& about, const core::Result<void>& result);
  void release(Cluster& cluster, const core::Service& service, core::Teardown teardown);
  Record* find_record(const core::ServiceKey& key);
  void sweep_orphans();

  Parts parts_;
  std::map<std::string, Cluster> clusters_;
  std::map<std::string, core::ServiceKey> key_by_unit_;  ///< the fleet speaks of uids
  std::set<core::ServiceKey> pending_;                   ///< dirty, to be planned by the next run
  /// Addresses that another host answered for, and until when they are left alone. Cleared when a
  /// container stops, since it may have been that host.
  std::map<core::IpAddress, Loop::TimePoint> conflicting_addresses_;
  bool run_scheduled_ = false;
  bool allocation_open_ = false;  ///< never closes again
  bool logged_ready_ = false;
  bool draining_ = false;
};

}  // namespace kindlb::controller

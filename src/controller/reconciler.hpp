#pragma once
// One Service at a time: gather what is known -> core::plan_service -> carry it out. Lives on the
// loop's thread and never waits: writes go to an executor, proxies to the fleet, and both mark the
// Service dirty when something came of it. Events carry no meaning of their own; a lost one costs
// latency, never correctness.

#include "fleet/fleet.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/kube/api.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "store.hpp"

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
    std::function<core::Timestamp()> now;
  };

  explicit Reconciler(Parts parts) : parts_(std::move(parts)) {}

  /// A cluster to serve. Added again (its API moved): the former objects stay until listed anew.
  void add_cluster(const std::string& name, const std::string& network,
                   std::shared_ptr<kube::Api> api);
  void remove_cluster(const std::string& name);
  bool serves(const std::string& name) const { return clusters_.contains(name); }
  std::set<std::string> networks() const;
  /// Proxies that stopped may be started again only while the cluster's nodes hold their addresses.
  void set_nodes_running(const std::string& name, bool running);
  /// Nodes whose containers are stopped, paused or gone: long before the API notices, nobody is
  /// sent there any more.
  void set_halted_nodes(const std::set<std::string>& names);

  /// A change of that cluster's objects, made by `edit`; what it returns is planned again.
  void update(const std::string& cluster, const std::function<Store::Keys(Store&)>& edit);
  void unit_changed(const std::string& unit);
  void claim_failed(const std::string& unit, const core::Error& why);
  void network_changed(const std::string& network);
  /// Tries again at once what failed, instead of found for its turn.
  void retry_now();
  /// Plans everything again: the fleet has been discovered, or clusters are complete.
  void plan_all();
  /// New addresses may be given out: everybody who has one has been seen (or had time to show up).
  void open_allocation();

  /// From now on every Service is let go, as if it were no longer ours; see `--on-exit delete`.
  void drain();
  bool drained() const;

 private:
  enum class DirectPathRetry { Idle, Waiting, Due };

  struct Record {
    std::string uid;
    std::string hash;
    std::chrono::steady_clock::time_point since;
    bool writing = false;
    bool releasing = false;
    std::string released;  ///< the resourceVersion that was let go: nothing more to do with it
    std::vector<core::IpAddress> reserved;
    core::LastReported told;
    std::optional<core::Trouble> trouble;
    unsigned failures = 0;
    bool retry_scheduled = false;
    std::optional<std::chrono::steady_clock::time_point>
        replan_at;  ///< the next plan without event
    bool direct_blocked = false;
    bool direct_proven = false;
    DirectPathRetry direct_path_retry = DirectPathRetry::Idle;
    unsigned direct_path_retries = 0;  ///< tries of the direct way in a row
  };

  struct Cluster {
    std::string network;
    std::shared_ptr<kube::Api> api;
    Store store;
    bool nodes_running = true;
    bool was_synced = false;
    std::map<core::ServiceKey, Record> records;
  };

  void mark_dirty(const core::ServiceKey& key);
  void reconcile_pending();
  void reconcile(const core::ServiceKey& key);
  void forget(Cluster& cluster, const core::ServiceKey& key);
  void replan_without_address(const std::string& network);
  Record& record_of(Cluster& cluster, const core::Service& service);
  core::ServiceSnapshot gather_world(const Cluster& cluster, const core::Service& service,
                                  const Record& record) const;
  std::map<core::IpFamily, core::AddressSpace> address_spaces(const Cluster& cluster,
                                                              const core::Service& service) const;
  void add_taken_addresses(const Cluster& cluster, const core::Service& service,
                           std::set<core::IpAddress>& taken) const;
  core::Plan plan_for(const core::ServiceSnapshot& world) const;
  void carry_out(Cluster& cluster, const core::Service& service, Record& record, core::Plan plan);
  void handle_failures(const core::Service& service, Record& record, const core::Plan& plan,
                       const core::ProxyView& proxy);
  bool give_up_conflicting_addresses(const core::Service& service, Record& record);
  void retry_direct_path(const core::Service& service, Record& record, const core::Plan& plan,
                         const core::ProxyView& proxy);
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
  std::map<std::string, core::ServiceKey> key_by_unit_;
  std::set<core::ServiceKey> pending_;
  std::map<core::IpAddress, std::chrono::steady_clock::time_point> conflicting_addresses_;
  bool run_scheduled_ = false;
  bool allocation_open_ = false;
  bool logged_ready_ = false;
  bool draining_ = false;
};

}  // namespace kindlb::controller

#pragma once
// The clusters that are served: their objects as last seen, and what is remembered of each Service
// that is or was ours. Holds and finds; plans nothing, writes nothing, and starts no work.
//
// Lives on the loop's thread; not thread-safe. Pointers and references are valid until the cluster
// or the record is removed.
//
// Invariants:
//  - A record belongs to one Service, by uid: a Service created again under the same name gets a
//    new one.
//  - key_by_unit_ has exactly the uids of all records.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/kube/api.hpp"
#include "loop.hpp"
#include "reconciler/rewrite_limit.hpp"
#include "reconciler/store.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace kindlb::controller {

/// What is remembered of a Service between passes.
struct ServiceRecord {
  std::string uid;
  std::string hash;       ///< of the fields last seen; see core::observed_hash
  Loop::TimePoint since;  ///< when `hash` was first seen
  core::ServiceMemory memory;
  RewriteLimit rewrites;
};

struct Cluster {
  std::string network;             ///< the docker network of its nodes
  std::shared_ptr<kube::Api> api;  ///< null until its API server answers
  Store store;
  bool nodes_running = true;  ///< all of them
  bool was_synced = false;    ///< the first complete listing has been seen
  std::string not_kept;       ///< what its API server did not keep of our writes, as last logged
  std::map<core::ServiceKey, ServiceRecord> records;
};

class Clusters {
 public:
  using Keys = Store::Keys;

  /// Add a cluster, or give a known one another API or network; its objects and records stay.
  void add(const std::string& name, const std::string& network, std::shared_ptr<kube::Api> api);
  /// Remove a cluster and return its records.
  std::map<core::ServiceKey, ServiceRecord> remove(const std::string& name);
  Cluster* find(const std::string& name);
  const std::map<std::string, Cluster>& all() const { return clusters_; }
  std::set<std::string> networks() const;
  bool all_synced() const;
  Keys set_halted_nodes(const std::set<std::string>& names);
  /// Put the API server's answer to a write into the store, unless the watch was faster and has
  /// seen the Service deleted or replaced. The store ignores an answer older than what it knows.
  void store_answer(const core::Service& answer);
  /// The Services were listed anew: the API server may be another one, which keeps more of what is
  /// written (core/report).
  void expect_more_of(const std::string& name);

  const core::Service* find_service(const core::ServiceKey& key) const;
  Keys service_keys() const;
  /// Return whether the cluster's Services are listed, and none of them that is ours has this uid.
  /// Before that, absence means nothing.
  bool is_orphan(const std::string& cluster, const std::string& uid,
                 const core::Policy& policy) const;

  /// Return the Service's record; an empty one if it is new. REQUIRES: the cluster is known, and
  /// there is no record of a namesake with another uid.
  ServiceRecord& record_of(const core::Service& service);
  ServiceRecord* find_record(const core::ServiceKey& key);
  /// The same, unless the record is of a namesake.
  ServiceRecord* find_record(const core::ServiceKey& key, const std::string& uid);
  /// Remove a record and return it; absent if there is none.
  std::optional<ServiceRecord> forget(const core::ServiceKey& key);
  std::optional<core::ServiceKey> key_of(const std::string& unit) const;
  std::size_t record_count() const;
  Keys record_keys() const;
  Keys record_keys_on(const std::string& network) const;
  /// Return those on the network whose Service has no address in its status.
  Keys record_keys_without_address(const std::string& network) const;

 private:
  std::map<std::string, Cluster> clusters_;
  std::map<std::string, core::ServiceKey> key_by_unit_;  ///< the fleet speaks of uids
};

}  // namespace kindlb::controller

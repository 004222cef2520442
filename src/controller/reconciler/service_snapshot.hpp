#pragma once
// What a plan is made from: one consistent view of everything known about a Service. Nothing is
// kept, changed or decided here.

#include "fleet/fleet.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler/address_conflicts.hpp"
#include "reconciler/clusters.hpp"

#include <map>
#include <set>
#include <string>

namespace kindlb::controller {

/// Where the facts are. Borrowed for the call.
struct SnapshotSources {
  const Clusters& clusters;
  const Fleet& fleet;
  const Networks& networks;
  const AddressConflicts& conflicts;
  const core::Policy& policy;
  Loop::TimePoint now;
  core::Timestamp wall_time;
  bool may_allocate = false;  ///< see core::ServiceSnapshot
};

/// Return the snapshot of one Service. It borrows from the cluster's store.
core::ServiceSnapshot take_snapshot(const SnapshotSources& sources, const Cluster& cluster,
                                    const core::Service& service, const ServiceRecord& record);

/// Return the addresses on the network that the Service `uid` may not have: those that other
/// Services hold, have reserved or report, in any cluster. `held` are those assigned inside
/// proxies, with the uid of the Service that has each. What the Service's own proxy holds is never
/// taken, even if a stale status of another one claims it.
std::set<core::IpAddress> taken_addresses(const Clusters& clusters, const std::string& network,
                                          const std::string& uid,
                                          const std::map<core::IpAddress, std::string>& held,
                                          std::set<core::IpAddress> taken = {});

}  // namespace kindlb::controller

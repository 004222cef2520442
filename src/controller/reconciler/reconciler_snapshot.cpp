// What a plan is made from: one consistent view of everything known about a Service.
#include "reconciler/reconciler.hpp"

#include <algorithm>

namespace kindlb::controller {

core::ServiceSnapshot Reconciler::take_snapshot(const Cluster& cluster,
                                                const core::Service& service,
                                                const Record& record) const {
  core::ServiceSnapshot snapshot;
  snapshot.service = &service;
  snapshot.slices = cluster.store.slices_of(service.key);
  snapshot.nodes = &cluster.store.nodes();
  snapshot.network = address_spaces(cluster, service);
  snapshot.proxy = parts_.fleet.view(record.uid);
  snapshot.memory = record.memory;
  if (const auto error = parts_.networks.error(cluster.network);
      !error.empty() && snapshot.network.empty())
    snapshot.memory.trouble = core::Trouble{"The docker network cannot be used: " + error};
  snapshot.age =
      std::chrono::duration_cast<std::chrono::milliseconds>(parts_.loop.now() - record.since);
  snapshot.may_allocate = allocation_open_;
  snapshot.nodes_running = cluster.nodes_running;
  snapshot.now = std::chrono::floor<std::chrono::seconds>(parts_.clock.wall());
  return snapshot;
}

std::map<core::IpFamily, core::AddressSpace> Reconciler::address_spaces(
    const Cluster& cluster, const core::Service& service) const {
  std::map<core::IpFamily, core::AddressSpace> out;
  const auto* facts = parts_.networks.find(cluster.network);
  if (facts == nullptr) return out;
  auto taken = facts->in_use;
  add_taken_addresses(cluster, service, taken);
  for (const auto& [family, subnet] : facts->subnets) {
    auto& space = out[family] = {.subnet = subnet, .taken = taken};
    for (const auto& range : parts_.policy.ip_ranges)
      if (range.family() == family) space.pools.push_back(range);
  }
  return out;
}

/// Add the addresses that this Service may not have: those other Services on the same docker
/// network hold, have reserved or report, in any cluster, and those another host answered for
/// lately. What the Service's own proxy holds is never taken, even if a stale status of another one
/// claims it.
void Reconciler::add_taken_addresses(const Cluster& cluster, const core::Service& service,
                                     std::set<core::IpAddress>& taken) const {
  std::set<core::IpAddress> own;
  for (const auto& [name, other] : clusters_) {
    if (other.network != cluster.network) continue;
    for (const auto& [key, record] : other.records)
      if (record.uid != service.uid)
        taken.insert(record.memory.reserved.begin(), record.memory.reserved.end());
    for (const auto& [key, neighbour] : other.store.services()) {
      if (neighbour.uid == service.uid || !core::was_ours(neighbour)) continue;
      for (const auto family : {core::IpFamily::V4, core::IpFamily::V6})
        for (const auto& address : core::reported_addresses(neighbour, family))
          taken.insert(address);
    }
  }
  for (const auto& [address, unit] : parts_.fleet.held_addresses(cluster.network)) {
    if (unit == service.uid)
      own.insert(address);
    else
      taken.insert(address);
  }
  const auto now = parts_.loop.now();
  for (const auto& [address, until] : conflicting_addresses_)
    if (until > now) taken.insert(address);
  for (const auto& address : own) taken.erase(address);
}

}  // namespace kindlb::controller

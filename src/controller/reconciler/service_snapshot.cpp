#include "reconciler/service_snapshot.hpp"

#include <chrono>
#include <utility>

namespace kindlb::controller {

namespace {

std::map<core::IpFamily, core::AddressSpace> address_spaces(const SnapshotSources& sources,
                                                            const std::string& network,
                                                            const std::string& uid) {
  std::map<core::IpFamily, core::AddressSpace> out;
  const auto* facts = sources.networks.find(network);
  if (facts == nullptr) return out;
  auto taken = facts->in_use;
  taken.merge(sources.conflicts.at(sources.now));
  taken = taken_addresses(sources.clusters, network, uid, sources.fleet.held_addresses(network),
                          std::move(taken));
  for (const auto& [family, subnet] : facts->subnets) {
    auto& space = out[family] = {.subnet = subnet, .taken = taken};
    for (const auto& range : sources.policy.ip_ranges)
      if (range.family() == family) space.pools.push_back(range);
  }
  return out;
}

}  // namespace

core::ServiceSnapshot take_snapshot(const SnapshotSources& sources, const Cluster& cluster,
                                    const core::Service& service, const ServiceRecord& record) {
  core::ServiceSnapshot out;
  out.service = &service;
  out.slices = cluster.store.slices_of(service.key);
  out.nodes = &cluster.store.nodes();
  out.network = address_spaces(sources, cluster.network, record.uid);
  out.proxy = sources.fleet.view(record.uid);
  out.memory = record.memory;
  if (const auto error = sources.networks.error(cluster.network);
      !error.empty() && out.network.empty())
    out.memory.trouble = core::Trouble{"The docker network cannot be used: " + error};
  out.age = std::chrono::duration_cast<std::chrono::milliseconds>(sources.now - record.since);
  out.may_allocate = sources.may_allocate;
  out.nodes_running = cluster.nodes_running;
  out.now = sources.wall_time;
  return out;
}

std::set<core::IpAddress> taken_addresses(const Clusters& clusters, const std::string& network,
                                          const std::string& uid,
                                          const std::map<core::IpAddress, std::string>& held,
                                          std::set<core::IpAddress> taken) {
  for (const auto& [name, cluster] : clusters.all()) {
    if (cluster.network != network) continue;
    for (const auto& [key, record] : cluster.records)
      if (record.uid != uid)
        taken.insert(record.memory.reserved.begin(), record.memory.reserved.end());
    for (const auto& [key, other] : cluster.store.services()) {
      if (other.uid == uid || !core::was_ours(other)) continue;
      for (const auto family : {core::IpFamily::V4, core::IpFamily::V6})
        for (const auto& address : core::reported_addresses(other, family)) taken.insert(address);
    }
  }
  for (const auto& [address, holder] : held)
    if (holder != uid) taken.insert(address);
  for (const auto& [address, holder] : held)
    if (holder == uid) taken.erase(address);
  return taken;
}

}  // namespace kindlb::controller

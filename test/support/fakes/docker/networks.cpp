#include "support/fakes/docker/networks.hpp"

#include <algorithm>

namespace kindlb::testing {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

bool is_taken(const docker::Network& network, const core::IpAddress& address) {
  const auto holds = [&](const auto& cidr) { return cidr && cidr->address == address; };
  return std::ranges::any_of(network.subnets,
                             [&](const auto& s) { return s.gateway && *s.gateway == address; }) ||
         std::ranges::any_of(network.members,
                             [&](const auto& m) { return holds(m.ipv4) || holds(m.ipv6); });
}

std::optional<core::IpAddress> free_address(const docker::Network& network, core::IpFamily family) {
  for (const auto& subnet : network.subnets) {
    if (subnet.cidr.address.family() != family) continue;
    auto address = subnet.cidr.first().next();
    while (address && is_taken(network, *address)) address = address->next();
    if (address && subnet.cidr.contains(*address)) return address;
  }
  return std::nullopt;
}

}  // namespace

std::string FakeNetworks::add(const docker::NetworkSpec& spec) {
  const std::lock_guard lock(mutex_);
  return insert(spec);
}

bool FakeNetworks::exists(const std::string& name_or_id) const {
  const std::lock_guard lock(mutex_);
  return find(name_or_id) != networks_.end();
}

std::optional<docker::Attachment> FakeNetworks::attach(const std::string& network,
                                                       const docker::Container& container) {
  const std::lock_guard lock(mutex_);
  const auto found = find(network);
  if (found == networks_.end()) return std::nullopt;
  auto& entry = networks_.at(found->first);
  docker::NetworkMember member{.container_id = container.id, .name = container.name};
  for (const auto& subnet : entry.subnets) {
    const auto family = subnet.cidr.address.family();
    const auto address = free_address(entry, family);
    if (!address) continue;
    (family == core::IpFamily::V4 ? member.ipv4 : member.ipv6) = {*address, subnet.cidr.length};
  }
  docker::Attachment end{.network = entry.name, .network_id = entry.id};
  if (member.ipv4) end.ipv4 = member.ipv4->address;
  if (member.ipv6) end.ipv6 = member.ipv6->address;
  entry.members.push_back(member);
  return end;
}

void FakeNetworks::detach(const docker::Container& container) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, network] : networks_)
    std::erase_if(network.members,
                  [&](const auto& member) { return member.container_id == container.id; });
}

Result<std::vector<docker::Network>> FakeNetworks::list(const std::vector<std::string>& labels) {
  if (auto fault = calls_.enter("list_networks", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Network> out;
  for (auto [id, network] : networks_) {
    network.members.clear();  // as the engine's list does
    if (has_labels(network.labels, labels)) out.push_back(network);
  }
  return out;
}

Result<docker::Network> FakeNetworks::inspect(const std::string& name_or_id) {
  if (auto fault = calls_.enter("inspect_network", name_or_id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = find(name_or_id);
  if (found == networks_.end()) return not_found("inspect_network", name_or_id);
  return found->second;
}

Result<std::string> FakeNetworks::create(const docker::NetworkSpec& spec) {
  if (auto fault = calls_.enter("create_network", spec.name)) return *fault;
  const std::lock_guard lock(mutex_);
  if (find(spec.name) != networks_.end())
    return Error{ErrorKind::Conflict, "create_network " + spec.name, "already exists"};
  return insert(spec);
}

Result<void> FakeNetworks::remove(const std::string& name_or_id) {
  if (auto fault = calls_.enter("remove_network", name_or_id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = find(name_or_id);
  if (found == networks_.end()) return not_found("remove_network", name_or_id);
  const auto& network = found->second;
  if (!network.members.empty())
    return Error{ErrorKind::Denied, "remove_network " + name_or_id, "has active endpoints"};
  system_.publish({.type = "network",
                   .action = "destroy",
                   .id = network.id,
                   .attributes = {{"name", network.name}}});
  networks_.erase(found);
  return {};
}

FakeNetworks::Entries::const_iterator FakeNetworks::find(const std::string& name_or_id) const {
  return std::ranges::find_if(networks_, [&](const auto& entry) {
    return entry.first == name_or_id || entry.second.name == name_or_id;
  });
}

std::string FakeNetworks::insert(const docker::NetworkSpec& spec) {
  docker::Network network{.id = calls_.new_id(),
                          .name = spec.name,
                          .driver = "bridge",
                          .labels = spec.labels,
                          .subnets = spec.subnets};
  const auto number = static_cast<std::uint32_t>(18 + networks_.size());
  if (network.subnets.empty()) {
    const auto base = core::IpAddress::v4((172U << 24U) | (number << 16U));
    network.subnets.push_back({.cidr = {base, 16}, .gateway = base.next()});
  }
  system_.publish({.type = "network",
                   .action = "create",
                   .id = network.id,
                   .attributes = {{"name", network.name}}});
  return networks_.emplace(network.id, network).first->first;
}

}  // namespace kindlb::testing

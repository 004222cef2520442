#include "reconciler/store.hpp"

#include "kindlb/base/number.hpp"

#include <cstdint>

namespace kindlb::controller {

bool is_older(const std::string& candidate, const std::string& known) {
  const auto a = base::parse_number<std::uint64_t>(candidate);
  const auto b = base::parse_number<std::uint64_t>(known);
  return a && b && *a < *b;
}

Store::Keys Store::all_keys() const {
  Keys keys;
  for (const auto& [key, service] : services_) keys.insert(key);
  return keys;
}

Store::Keys Store::replace_services(std::vector<core::Service> all) {
  Keys keys = all_keys();  // those gone since the last list must be planned, too
  auto before = std::exchange(services_, {});
  for (auto& service : all) {
    keys.insert(service.key);
    const auto known = before.find(service.key);
    const bool stale = known != before.end() && known->second.uid == service.uid &&
                       is_older(service.resource_version, known->second.resource_version);
    auto key = service.key;
    services_.emplace(std::move(key), stale ? std::move(known->second) : std::move(service));
  }
  ++service_lists_;
  return keys;
}

Store::Keys Store::put_service(core::Service service) {
  const auto known = services_.find(service.key);
  if (known != services_.end() && known->second.uid == service.uid &&
      is_older(service.resource_version, known->second.resource_version))
    return {};
  auto key = service.key;
  services_.insert_or_assign(key, std::move(service));
  return {std::move(key)};
}

Store::Keys Store::remove_service(const core::ServiceKey& key) {
  services_.erase(key);
  return {key};
}

Store::Keys Store::replace_slices(std::vector<core::EndpointSlice> all) {
  slices_.clear();
  slices_by_service_.clear();
  for (auto& slice : all) {
    SliceId id{slice.service.ns, slice.name};
    slices_by_service_[slice.service].insert(id);
    slices_.insert_or_assign(std::move(id), std::move(slice));
  }
  slices_listed_ = true;
  return all_keys();
}

Store::Keys Store::put_slice(core::EndpointSlice slice) {
  const SliceId id{slice.service.ns, slice.name};
  auto keys = Keys{slice.service};
  const auto known = slices_.find(id);
  if (known != slices_.end()) {
    if (known->second == slice) return {};
    keys.merge(remove_slice(id.first, id.second));
  }
  slices_by_service_[slice.service].insert(id);
  slices_.insert_or_assign(id, std::move(slice));
  return keys;
}

Store::Keys Store::remove_slice(const std::string& ns, const std::string& name) {
  const auto found = slices_.find({ns, name});
  if (found == slices_.end()) return {};
  const auto service = found->second.service;
  const auto index = slices_by_service_.find(service);
  index->second.erase(found->first);
  if (index->second.empty()) slices_by_service_.erase(index);
  slices_.erase(found);
  return {service};
}

Store::Keys Store::replace_nodes(std::vector<core::Node> all) {
  nodes_.clear();
  for (auto& node : all) {
    auto name = node.name;
    node.halted = halted_.contains(name);
    nodes_.insert_or_assign(std::move(name), std::move(node));
  }
  nodes_listed_ = true;
  return all_keys();
}

Store::Keys Store::put_node(core::Node node) {
  node.halted = halted_.contains(node.name);
  const auto known = nodes_.find(node.name);
  if (known != nodes_.end() && known->second == node) return {};
  auto name = node.name;
  nodes_.insert_or_assign(std::move(name), std::move(node));
  return all_keys();
}

Store::Keys Store::remove_node(const std::string& name) {
  if (nodes_.erase(name) == 0) return {};
  return all_keys();
}

Store::Keys Store::set_halted(const std::set<std::string>& names) {
  halted_ = names;
  bool changed = false;
  for (auto& [name, node] : nodes_) {
    const bool halted = names.contains(name);
    changed = changed || node.halted != halted;
    node.halted = halted;
  }
  return changed ? all_keys() : Keys{};
}

const core::Service* Store::service(const core::ServiceKey& key) const {
  const auto found = services_.find(key);
  return found == services_.end() ? nullptr : &found->second;
}

core::Slices Store::slices_of(const core::ServiceKey& key) const {
  core::Slices out;
  const auto index = slices_by_service_.find(key);
  if (index == slices_by_service_.end()) return out;
  for (const auto& id : index->second) out.push_back(&slices_.at(id));
  return out;
}

}  // namespace kindlb::controller

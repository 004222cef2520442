#include "networks.hpp"

#include "background.hpp"

#include <utility>

namespace kindlb::controller {

NetworkFacts facts_of(const docker::Network& network) {
  NetworkFacts facts;
  for (const auto& subnet : network.subnets) {
    facts.subnets.emplace(subnet.cidr.address.family(), subnet.cidr);
    if (subnet.gateway) facts.in_use.insert(*subnet.gateway);
  }
  for (const auto& member : network.members) {
    if (member.ipv4) facts.in_use.insert(member.ipv4->address);
    if (member.ipv6) facts.in_use.insert(member.ipv6->address);
  }
  return facts;
}

void Networks::refresh(const std::string& name) {
  auto& entry = entries_[name];
  if (std::exchange(entry.looking_up, true)) {
    entry.again = true;
    return;
  }
  run_then(
      executor_, loop_, [this, name] { return engine_networks_.inspect(name); },
      [this, name](const core::Result<docker::Network>& result) { looked_up(name, result); });
}

void Networks::looked_up(const std::string& name, const core::Result<docker::Network>& result) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  auto& entry = found->second;
  entry.looking_up = false;
  const auto before = entry;
  entry.known = result.ok() || (entry.known && result.error().kind != core::ErrorKind::NotFound);
  entry.error = entry.known ? "" : result.error().text();
  if (result.ok()) entry.facts = facts_of(*result);
  if (std::exchange(entry.again, false)) refresh(name);
  if (!result.ok()) retry(name);
  if (before.known != entry.known || before.facts != entry.facts || before.error != entry.error)
    changed_(name);
}

/// One timer at a time, however many look-ups fail.
void Networks::retry(const std::string& name) {
  if (std::exchange(entries_.at(name).retry_scheduled, true)) return;
  loop_.after(std::chrono::seconds(2), [this, name] {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    found->second.retry_scheduled = false;
    refresh(name);
  });
}

void Networks::refresh_all() {
  for (const auto& [name, entry] : entries_) refresh(name);
}

void Networks::refresh_all_soon() {
  if (std::exchange(refresh_scheduled_, true)) return;
  loop_.after(std::chrono::milliseconds(300), [this] {
    refresh_scheduled_ = false;
    refresh_all();
  });
}

void Networks::retain(const std::set<std::string>& names) {
  std::erase_if(entries_, [&](const auto& item) { return !names.contains(item.first); });
}

const NetworkFacts* Networks::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() || !found->second.known ? nullptr : &found->second.facts;
}

std::string Networks::error(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? "" : found->second.error;
}

}  // namespace kindlb::controller

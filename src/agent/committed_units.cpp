#include "committed_units.hpp"

#include "log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::agent {

namespace {

std::string serving_line(const protocol::Unit& unit) {
  std::string addresses;
  for (const auto& address : unit.addresses)
    addresses += (addresses.empty() ? "" : ", ") + address.address.text();
  const auto ports = unit.listeners.size();
  return "serving " + unit.owner + " at " + addresses + " (" + std::to_string(ports) +
         (ports == 1 ? " listener)" : " listeners)");
}

void log_not_serving(const protocol::Unit& unit, const std::string& why) {
  log("not serving " + unit.owner + ": " + why);
}

}  // namespace

protocol::Unit swap_listener_variants(protocol::Unit unit) {
  if (!unit.udp_rules.empty()) std::swap(unit.listeners, unit.listeners_behind_rules);
  return unit;
}

void CommittedUnits::load() {
  std::vector<std::string> problems;
  for (auto& unit : store_.load(problems)) {
    const auto name = unit.unit;
    units_[name] = {.unit = behind_rules_ ? swap_listener_variants(std::move(unit)) : unit};
  }
  for (const auto& problem : problems) log("ignoring stored unit " + problem);
}

void CommittedUnits::commit(const protocol::Unit& unit, std::uint64_t request) {
  auto& committed = units_[unit.unit];
  const bool same_place =
      committed.unit.listeners == unit.listeners && committed.unit.addresses == unit.addresses;
  committed = {.unit = unit, .state = State::Acknowledged, .committed_by = request};
  if (!same_place) log(serving_line(unit));
  unstored_.erase(unit.unit);
  if (const auto stored = store(unit); !stored) {
    unstored_.insert(unit.unit);
    log(stored.error().text());
  }
}

core::Result<void> CommittedUnits::store(const protocol::Unit& unit) const {
  return store_.save(behind_rules_ ? swap_listener_variants(unit) : unit);
}

bool CommittedUnits::store_missing() {
  std::erase_if(unstored_, [&](const auto& name) { return store(units_.at(name).unit).ok(); });
  return unstored_.empty();
}

std::optional<protocol::Unit> CommittedUnits::release(const std::string& unit) {
  auto node = units_.extract(unit);
  unstored_.erase(unit);
  store_.remove(unit);
  if (node.empty()) return std::nullopt;
  log("released " + node.mapped().unit.owner);
  return std::move(node.mapped().unit);
}

void CommittedUnits::suspend(const std::string& unit, const std::string& why) {
  const auto found = units_.find(unit);
  if (found == units_.end()) return;
  found->second.state = State::Suspended;
  log_not_serving(found->second.unit, why);
}

void CommittedUnits::suspend_filtered(const std::string& why) {
  for (auto& [name, committed] : units_) {
    if (committed.state == State::Suspended || committed.unit.udp_rules.empty()) continue;
    committed.state = State::Suspended;
    log_not_serving(committed.unit, why);
  }
}

void CommittedUnits::acknowledge(const AckStatuses& statuses,
                                 const std::function<std::string(const protocol::Unit&)>& reason) {
  for (auto& [name, committed] : units_) {
    if (committed.state == State::Suspended) continue;
    const auto found = statuses.find(name);
    const auto status = found == statuses.end() ? AckStatus() : found->second;
    const bool acked = status.kind == AckStatus::Kind::Acked;
    committed.state = acked ? State::Acknowledged : State::Unacknowledged;
    if (acked)
      log(serving_line(committed.unit));
    else
      log_not_serving(committed.unit, status.text.empty() ? reason(committed.unit) : status.text);
  }
}

void CommittedUnits::forget_acknowledgements() {
  for (auto& [name, committed] : units_)
    if (committed.state == State::Acknowledged) committed.state = State::Unacknowledged;
}

const CommittedUnit* CommittedUnits::find(const std::string& unit) const {
  const auto found = units_.find(unit);
  return found == units_.end() ? nullptr : &found->second;
}

std::vector<const CommittedUnit*> CommittedUnits::served() const {
  std::vector<const CommittedUnit*> out;
  for (const auto& [name, committed] : units_)
    if (committed.state != State::Suspended) out.push_back(&committed);
  return out;
}

XdsSnapshot CommittedUnits::snapshot(const std::vector<std::string>& except) const {
  XdsSnapshot out;
  for (const auto* committed : served()) {
    if (std::ranges::find(except, committed->unit.unit) != except.end()) continue;
    std::string conflict;
    if (!add_unit(out, committed->unit, conflict))
      log_not_serving(committed->unit, conflict + " is used by another Service");
  }
  return out;
}

std::map<std::string, std::vector<core::Cidr>> CommittedUnits::addresses() const {
  std::map<std::string, std::vector<core::Cidr>> out;
  for (const auto& [name, committed] : units_) out.emplace(name, committed.unit.addresses);
  return out;
}

std::vector<protocol::UnitState> CommittedUnits::states() const {
  std::vector<protocol::UnitState> out;
  for (const auto& [name, committed] : units_)
    out.push_back({name, committed.unit.owner, committed.unit.revision,
                   committed.state == State::Acknowledged, committed.unit.addresses,
                   committed.unit.clusters.size()});
  return out;
}

}  // namespace kindlb::agent

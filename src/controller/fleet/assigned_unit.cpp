#include "fleet/assigned_unit.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

core::Reach reach_of(protocol::ProbeResult result) {
  switch (result) {
    case protocol::ProbeResult::Reached:
      return core::Reach::Reached;
    case protocol::ProbeResult::Refused:
      return core::Reach::Refused;
    case protocol::ProbeResult::Unreachable:
      return core::Reach::Unreachable;
  }
  return core::Reach::Unreachable;
}

std::vector<core::IpAddress> without_prefix(const std::vector<core::Cidr>& addresses) {
  std::vector<core::IpAddress> out;
  out.reserve(addresses.size());
  for (const auto& address : addresses) out.push_back(address.address);
  return out;
}

}  // namespace

AssignedUnit::AssignedUnit(std::string owner, std::size_t watches)
    : owner_(std::move(owner)), watches_(watches) {
  view_.present = true;
}

bool AssignedUnit::awaits(std::uint64_t request) const {
  return releasing() ? release_id_ == request : apply_id_ == request && !view_.sent.empty();
}

void AssignedUnit::begin_apply(std::uint64_t request, const core::Revision& revision,
                               const std::vector<core::Cidr>& addresses, bool probed) {
  apply_id_ = request;
  view_.sent = revision;
  if (revision != view_.retried) view_.retried = {};
  view_.addresses = without_prefix(addresses);
  if (probed) view_.reach = core::Reach::Unknown;
}

void AssignedUnit::begin_release(std::uint64_t request) {
  release_id_ = request;
  view_.sent = {};
}

bool AssignedUnit::confirm(const protocol::Applied& applied) {
  if (releasing() || applied.id != apply_id_) return false;
  view_.sent = {};
  view_.acknowledged = core::Revision::parse(applied.revision);
  forget_rejection();
  if (applied.probes.empty()) return true;
  // The worst outcome counts: every reported address and port must answer (docs/contract.md §2).
  view_.reach = core::Reach::Reached;
  view_.reach_detail.clear();
  for (const auto& probe : applied.probes) {
    const auto reach = reach_of(probe.result);
    if (reach > view_.reach) view_.reach_detail = probe.detail;
    view_.reach = std::max(view_.reach, reach);
  }
  return true;
}

/// The former revision still serves, so `acknowledged` stays (docs/contract.md §2).
bool AssignedUnit::reject(const protocol::Rejected& rejected) {
  if (rejected.stage == protocol::RejectStage::Superseded) return false;
  if (releasing() || rejected.id != apply_id_) return false;
  view_.sent = {};
  view_.rejected = core::Revision::parse(rejected.revision);
  view_.retried = {};
  view_.rejection = rejected.text;
  view_.address_refused = rejected.stage == protocol::RejectStage::Address;
  if (view_.address_refused) view_.addresses.clear();  // not assigned: another may be chosen
  return true;
}

void AssignedUnit::adopt(const protocol::UnitState& reported) {
  owner_ = reported.owner;
  watches_ = reported.watches;
  view_.addresses = without_prefix(reported.addresses);
  view_.acknowledged =
      reported.acknowledged ? core::Revision::parse(reported.revision) : core::Revision{};
}

void AssignedUnit::forget_failure() {
  if (!view_.rejected.empty()) view_.retried = std::exchange(view_.rejected, {});
  view_.address_refused = false;
  view_.reach = core::Reach::Unknown;
}

void AssignedUnit::forget_rejection() {
  view_.rejected = {};
  view_.retried = {};
  view_.rejection.clear();
  view_.address_refused = false;
}

}  // namespace kindlb::controller

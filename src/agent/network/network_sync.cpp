#include "network/network_sync.hpp"

#include "log.hpp"

namespace kindlb::agent {

using protocol::RejectStage;

namespace {

NetworkSync::Refusal refusal(RejectStage stage, const core::Error& error) {
  return {stage, error.operation + ": " + error.detail};
}

}  // namespace

std::optional<NetworkSync::Refusal> NetworkSync::add() {
  const auto wanted = wanted_();
  for (const auto* request : wanted.requested)
    for (const auto& address : request->unit.addresses) held_back_.erase(address);
  const auto desired = addable(wanted);
  if (const auto added = network_.add_addresses(desired); !added)
    return refusal(RejectStage::Address, added.error());
  if (const auto added = network_.add_routes(desired); !added)
    return refusal(RejectStage::Route, added.error());
  // Before Envoy opens the ports they filter.
  if (const auto set = rules_.install(wanted); !set)
    return refusal(RejectStage::Filter, set.error());
  return std::nullopt;
}

void NetworkSync::sync() {
  const auto wanted = wanted_();
  const auto desired = addable(wanted);
  loop_.cancel(recheck_);
  if (network_.remove_stale(desired)) recheck_ = loop_.after(kRouteRecheck, [this] { sync(); });
  if (const auto added = network_.add_addresses(desired); !added) log(added.error().text());
  if (const auto added = network_.add_routes(desired); !added) log(added.error().text());
  if (const auto set = rules_.install(wanted); !set) log(set.error().text());
  network_.announce();
}

std::string NetworkSync::restore(bool& announced) {
  const auto wanted = wanted_();
  const auto desired = addable(wanted);
  std::string problem;
  for (const auto& result :
       {network_.add_addresses(desired), network_.add_routes(desired), rules_.install(wanted)})
    if (!result && problem.empty())
      problem = result.error().operation + ": " + result.error().detail;
  announced = network_.announce();
  return problem;
}

void NetworkSync::hold_back(const std::vector<core::Cidr>& addresses) {
  held_back_.insert(addresses.begin(), addresses.end());
}

std::vector<core::Cidr> NetworkSync::held_back() {
  if (held_back_.empty()) return {};
  const auto wanted = desired_network(wanted_());
  std::erase_if(held_back_, [&](const auto& one) { return !wanted.addresses.contains(one); });
  return {held_back_.begin(), held_back_.end()};
}

DesiredNetwork NetworkSync::addable(const WantedUnits& wanted) const {
  auto out = desired_network(wanted);
  for (const auto& address : held_back_) out.addresses.erase(address);
  return out;
}

}  // namespace kindlb::agent

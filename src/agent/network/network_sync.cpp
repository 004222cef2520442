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
  const auto desired = desired_network(wanted);
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
  const auto desired = desired_network(wanted);
  loop_.cancel(recheck_);
  if (network_.remove_stale(desired)) recheck_ = loop_.after(kRouteRecheck, [this] { sync(); });
  if (const auto added = network_.add_addresses(desired); !added) log(added.error().text());
  if (const auto added = network_.add_routes(desired); !added) log(added.error().text());
  if (const auto set = rules_.install(wanted); !set) log(set.error().text());
  network_.announce();
}

}  // namespace kindlb::agent

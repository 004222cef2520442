// Requests: one per Apply or Release that has not been answered, from the address check to the
// answer. What Envoy does with them is in agent_updates.cpp.
//
// Invariants
// - Each request gets exactly one answer (`answered`), also when it is superseded or times out.
// - A request ends only through end_request, which cancels its timer. Callbacks hold its key, never
//   a pointer, and look it up again: it may be gone.
// - From Announcing to Applying the network holds what the request needs in addition to what the
//   committed units need (desired_network); whichever way it ends, sync_network removes the rest.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>

namespace kindlb::agent {

using protocol::RejectStage;

namespace {
constexpr std::chrono::seconds kRequestTimeout{10};
/// How often to check whether connections still need routes that no unit wants any more.
constexpr std::chrono::seconds kRouteRecheck{2};
constexpr std::chrono::milliseconds kLongestProbe{60'000};
}  // namespace

Agent::Request& Agent::add_request(ClientId client, std::uint64_t id, protocol::Unit unit) {
  const auto key = ++last_request_;
  auto& request = requests_[key];
  request.key = key;
  request.client = client;
  request.id = id;
  request.unit = std::move(unit);
  request.deadline = loop_.after(kRequestTimeout, [this, key] { request_timed_out(key); });
  return request;
}

/// Answer and end every older request for the unit. One that Envoy is deciding about must stay
/// until then, answered: the update refers to it.
void Agent::supersede(const std::string& unit) {
  std::vector<std::uint64_t> over;
  for (auto& [key, request] : requests_) {
    if (request.unit.unit != unit) continue;
    if (request.is_release)
      answer_applied(request);  // the newer request replaces all of the unit's content
    else
      reject(request, RejectStage::Superseded, "superseded by a newer request for this Service");
    if (request.stage != Request::Stage::Applying) over.push_back(key);
  }
  for (const auto key : over) end_request(key);
}

/// A request that ends while Applying was not accepted (commit moves it on to Probing first): Envoy
/// may have opened some of its listeners, so their UDP ports stay filtered.
void Agent::end_request(std::uint64_t key) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;
  auto& request = found->second;
  loop_.cancel(request.deadline);
  if (request.stage == Request::Stage::Applying) quarantine(request.unit);
  requests_.erase(found);
}

void Agent::address_checked(std::uint64_t key, const AddressChecks::Problem& problem) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;  // superseded meanwhile
  auto& request = found->second;
  if (problem) {
    reject(request, RejectStage::Address, *problem);
    end_request(key);
    return sync_network();  // a request it superseded may have left addresses or routes
  }
  request.stage = Request::Stage::Announcing;
  const auto desired = desired_network();
  const auto failed = [&](RejectStage stage, const core::Error& error) {
    reject(request, stage, error.operation + ": " + error.detail);
    end_request(key);
    sync_network();
  };
  const auto addresses = network_.add_addresses(desired);
  if (!addresses) return failed(RejectStage::Address, addresses.error());
  const auto routes = network_.add_routes(desired);
  if (!routes) return failed(RejectStage::Route, routes.error());
  // Before Envoy opens the ports they filter.
  const auto rules = filter_.set(packet_rules());
  if (!rules) return failed(RejectStage::Filter, rules.error());
  loop_.after({}, [this] { network_ready(); });
}

/// Announce once for all requests that reached this stage in one turn of the loop, and only then
/// start their probes: an announcement empties the kernel's neighbour table, which drops the
/// packets queued for resolution, so it must not come between a probe's SYN and the answer. For the
/// same reason running address checks start over.
void Agent::network_ready() {
  if (network_.announce()) checks_.restart();
  for (auto& [key, request] : requests_) {
    if (request.stage != Request::Stage::Announcing) continue;
    request.stage = Request::Stage::Queued;
    begin_probing(request);
  }
  start_next_update();
}

/// Probe while Envoy processes the update: the two are independent, and Applied needs both.
void Agent::begin_probing(Request& request) {
  request.probing = std::make_unique<ProbeSet>(loop_, request.probes,
                                               std::min(request.probe_timeout, kLongestProbe),
                                               [this, key = request.key] { probes_changed(key); });
}

void Agent::probes_changed(std::uint64_t key) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;
  auto& request = found->second;
  if (request.stage != Request::Stage::Probing || !request.probing ||
      !request.probing->is_finished())
    return;
  answer_applied(request);
  end_request(key);
}

/// Try a request again in an update of its own, after a shared update failed or Envoy crashed. A
/// request that has been answered meanwhile (superseded) ends instead.
void Agent::requeue_alone(Request& request) {
  if (request.answered) return end_request(request.key);
  request.stage = Request::Stage::Queued;
  request.alone = true;
  request.deadline =
      loop_.after(kRequestTimeout, [this, key = request.key] { request_timed_out(key); });
}

/// The deadline until an update takes the request: Envoy is down, or busy with other updates. From
/// there on the update's own deadline counts, and then that of the probes. A release is carried out
/// all the same: removing what a dead Envoy does not serve needs no consent.
void Agent::request_timed_out(std::uint64_t key) {
  auto& request = requests_.at(key);
  if (request.is_release) return commit_release(request);
  reject(request, RejectStage::Down,
         "Envoy was not ready within " + std::to_string(kRequestTimeout.count()) + " s");
  end_request(key);
  sync_network();
}

/// Addresses and routes are shared by units: each stays while any unit or request needs it, so it
/// is computed from all of them and never counted. Two units may disagree about the gateway of a
/// pod (its address moved to another node and only one unit has been updated yet): the newer one is
/// right, so units are added by age and requests, which are newer still, last.
DesiredNetwork Agent::desired_network() const {
  DesiredNetwork desired;
  std::vector<const CommittedUnit*> by_age;
  for (const auto& [name, committed] : units_)
    if (!committed.suspended) by_age.push_back(&committed);
  std::stable_sort(by_age.begin(), by_age.end(),
                   [](const CommittedUnit* a, const CommittedUnit* b) {
                     return a->committed_by < b->committed_by;
                   });
  for (const auto* committed : by_age)
    desired.add(committed->unit.addresses, committed->unit.routes);
  for (const auto& [key, request] : requests_)
    if (request.stage == Request::Stage::Announcing || request.stage == Request::Stage::Queued ||
        request.stage == Request::Stage::Applying)
      desired.add(request.unit.addresses, request.unit.routes);
  return desired;
}

/// Make the namespace match desired_network: first remove, then add, then filter. Failures are
/// logged only, since there is no request to reject: what was installed before stays.
void Agent::sync_network() {
  const auto desired = desired_network();
  loop_.cancel(route_recheck_);
  if (network_.remove_stale(desired))
    route_recheck_ = loop_.after(kRouteRecheck, [this] { sync_network(); });
  if (const auto added = network_.add_addresses(desired); !added) log(added.error().text());
  if (const auto added = network_.add_routes(desired); !added) log(added.error().text());
  if (const auto set = filter_.set(packet_rules()); !set) log(set.error().text());
  network_.announce();
}

}  // namespace kindlb::agent

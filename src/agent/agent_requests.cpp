// The agent's requests: one per Apply or Release under way.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>

namespace kindlb::agent {

using protocol::RejectStage;

namespace {
constexpr std::chrono::seconds kRequestTimeout{10};
/// How often routes that are only kept for open connections are looked at again.
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

void Agent::supersede(const std::string& unit) {
  std::vector<std::uint64_t> over;
  for (auto& [key, request] : requests_) {
    if (request.unit.unit != unit) continue;
    if (request.is_release)
      answer_applied(request);  // what follows replaces the snapshot anyway
    else
      reject(request, RejectStage::Superseded, "a newer message for this unit came in");
    if (request.stage != Request::Stage::Applying) over.push_back(key);
  }
  for (const auto key : over) end_request(key);
}

void Agent::end_request(std::uint64_t key) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;
  auto& request = found->second;
  loop_.cancel(request.deadline);
  if (request.stage == Request::Stage::Applying) quarantine(request.unit);
  requests_.erase(found);
}

void Agent::address_checked(std::uint64_t key, const std::string& problem) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;  // superseded meanwhile
  auto& request = found->second;
  if (!problem.empty()) {
    reject(request, RejectStage::Address, problem);
    end_request(key);
    return sync_network();  // what it superseded may have asked for something
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
  // Before anybody listens.
  const auto rules = filter_.set(packet_rules());
  if (!rules) return failed(RejectStage::Filter, rules.error());
  loop_.after({}, [this] { network_ready(); });
}

/// For all requests whose addresses came in this turn of the loop together: an announcement drops
/// packets that wait for a neighbour's answer, so none may follow the first probe.
void Agent::network_ready() {
  if (network_.announce()) checks_.restart();
  for (auto& [key, request] : requests_) {
    if (request.stage != Request::Stage::Announcing) continue;
    request.stage = Request::Stage::Queued;
    begin_probing(request);
  }
  start_next_update();
}

/// At once, while Envoy is still being told: an answer needs both.
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

/// It was tried, with others or before Envoy crashed, and is to be tried again by itself; unless
/// nobody waits for it any more.
void Agent::requeue_alone(Request& request) {
  if (request.answered) return end_request(request.key);
  request.stage = Request::Stage::Queued;
  request.alone = true;
  request.deadline =
      loop_.after(kRequestTimeout, [this, key = request.key] { request_timed_out(key); });
}

/// Before Envoy was told; then the generation's deadline counts, and after it the probes' own.
void Agent::request_timed_out(std::uint64_t key) {
  auto& request = requests_.at(key);
  if (request.is_release) return commit_release(request);
  reject(request, RejectStage::Down, "Envoy was not ready in time");
  end_request(key);
  sync_network();
}

/// Units share routes: one stays until the last that wants it has gone. Where they do not agree (a
/// pod's address has moved to another node, and not all have been told), the newest word counts.
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

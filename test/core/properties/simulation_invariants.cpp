// What must hold in the simulation whatever happens. Verdicts are core's own (the truth table has
// tested them); that they come true is what is checked here.
#include "core/properties/simulation.hpp"

#include <algorithm>

namespace kindlb::test {

using namespace core;

namespace {

bool wants_load_balancer(const Service& service) {
  return service.spec.type == ServiceType::LoadBalancer && !service.deleting;
}

/// The proxy listens on exactly the open ports, at exactly the reported addresses.
bool listens_as_reported(const ProxyConfig& config, const std::vector<Ingress>& ingress) {
  std::set<std::string> said;
  for (const auto& entry : ingress)
    for (const auto& port : entry.ports)
      if (port.error.empty())
        said.insert(entry.ip + " " + std::to_string(port.port) + name_of(port.protocol));
  std::set<std::string> done;
  for (const auto& listener : config.listeners)
    done.insert(listener.address.text() + " " + std::to_string(listener.port) +
                name_of(listener.protocol));
  return said == done;
}

bool same(const Plan& a, const Plan& b) {
  return a.write == b.write && a.events == b.events && a.claim == b.claim &&
         a.addresses == b.addresses && a.apply == b.apply && a.revision == b.revision &&
         a.probes == b.probes && a.remove_proxy == b.remove_proxy && a.teardown == b.teardown &&
         a.last_reported == b.last_reported && a.again == b.again;
}

bool holds(const std::vector<IpAddress>& addresses, const IpAddress& address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

bool is_failing_as_asked(const Service& service) {
  return !request_of(service).faults.infrastructure.empty();
}

}  // namespace

void Simulation::expect(bool holds, const char* promise) {
  if (!holds) broken_.emplace_back(promise);
}

void Simulation::check_plan(const Subject& subject, const Plan& plan) {
  const auto& service = *subject.object;
  if (!wants_load_balancer(service) || verdict_.outcome == Outcome::Refuse) {
    expect(!plan.claim && !plan.apply && plan.addresses.empty(),
           "who is refused or let go gets no address and no proxy");
    return;
  }
  const bool announced =
      last_observed(service) == observed_hash(service, policy_) && has_finalizer(service);
  expect(announced || (!plan.claim && !plan.apply), "nothing is begun before the write for it");
  expect(!plan.remove_proxy || is_failing_as_asked(service), "who is served keeps its proxy");
  expect(!plan.apply || plan.revision == revision_of(*plan.apply), "a revision names its content");
  check_kept(subject, verdict_, plan);
}

void Simulation::check_kept(const Subject& subject, const Verdict& verdict, const Plan& plan) {
  if (!has_room(subject, verdict)) return;
  for (const auto family : verdict.families) {
    const auto requested = verdict.addresses.find(family);
    const auto reported = reported_addresses(*subject.object, family);
    if (requested != verdict.addresses.end())
      expect(holds(plan.addresses, requested->second), "who can have its chosen address has it");
    else if (!reported.empty())
      expect(holds(plan.addresses, reported[0]), "who has an address keeps it");
  }
}

void Simulation::check_write(const Subject& subject, const StatusApply& write) {
  const auto& service = *subject.object;
  expect(verdict_.outcome != Outcome::Refuse || write.ingress.empty(),
         "who is refused has nothing");
  if (!was_ours(service) || verdict_.outcome == Outcome::Refuse) return;
  for (const auto family : verdict_.families) {
    const auto before = reported_addresses(service, family);
    if (before.empty()) continue;
    auto after = service;
    after.status.ingress = write.ingress;
    const auto requested = verdict_.addresses.find(family);
    const auto now = reported_addresses(after, family);
    const bool chosen =
        requested != verdict_.addresses.end() && now == std::vector{requested->second};
    expect(now == before || chosen, "a reported address never moves but to the chosen one");
  }
}

/// Asked of the proxy itself, not of what kindlb believes about it.
void Simulation::check_serving(const Subject& subject, const StatusApply& write) {
  if (!is_true(write.conditions, kServingCondition)) return;
  const auto& container = subject.container;
  expect(container && container->live && !container->acknowledged.empty() &&
             !container->config.listeners.empty(),
         "Serving needs a proxy that confirmed something");
  if (!container || is_true(write.conditions, kProvisioningCondition)) return;
  expect(listens_as_reported(container->config, write.ingress),
         "Serving reports what the proxy confirmed");
}

/// A spec is reported as served only once every ready endpoint is known under its ports.
void Simulation::check_claim(const Subject& subject, const StatusApply& write) {
  const auto service = as_reported(*subject.object, subject.memory.kept.report, now_);
  const auto observed = service.annotations.find(kObservedAnnotation);
  const bool news = is_true(service.status.conditions, kProvisioningCondition) ||
                    observed == service.annotations.end() || observed->second != write.observed;
  if (!news || !is_true(write.conditions, kServingCondition) ||
      is_true(write.conditions, kProvisioningCondition))
    return;
  for (const auto& slice : subject.slices) {
    const bool ready = std::any_of(slice.endpoints.begin(), slice.endpoints.end(),
                                   [](const Endpoint& endpoint) { return endpoint.ready; });
    for (const auto& port : verdict_.ports) {
      const EndpointPort wanted{port.name, port.protocol,
                                static_cast<std::uint16_t>(std::stoi(port.target_port))};
      expect(!ready || std::count(slice.ports.begin(), slice.ports.end(), wanted) == 1,
             "no port is claimed before its EndpointSlices have it");
    }
  }
}

/// A time is that of a change: now, or a second after the one before it.
void Simulation::check_times(const Subject& subject, const StatusApply& write) {
  const auto before = reported_conditions(subject);
  for (const auto& condition : write.conditions) {
    const auto* known = find_condition(before, condition.type);
    const auto time = condition.last_transition;
    expect(known == nullptr || time >= known->last_transition, "no time goes back");
    expect(time <= now_ ||
               (known != nullptr && time <= known->last_transition + std::chrono::seconds(1)),
           "no time is further ahead than a second after the one before");
  }
}

void Simulation::check_addresses() {
  std::map<IpAddress, const Subject*> holder;
  const auto give = [&](const IpAddress& address, const Subject& subject) {
    const auto [known, fresh] = holder.emplace(address, &subject);
    expect(fresh || known->second == &subject, "an address is never given to two Services");
  };
  for (const auto& subject : subjects_) {
    if (subject.object && was_ours(*subject.object))
      for (const auto family : {IpFamily::V4, IpFamily::V6})
        for (const auto& address : reported_addresses(*subject.object, family))
          give(address, subject);
    if (!subject.container) continue;
    for (const auto& address : subject.container->addresses) give(address, subject);
  }
}

void Simulation::check_order() {
  auto& subject = random_subject();
  if (!subject.object) return;
  const auto before = plan(subject);
  std::reverse(subject.slices.begin(), subject.slices.end());
  for (auto& slice : subject.slices) {
    std::reverse(slice.endpoints.begin(), slice.endpoints.end());
    std::reverse(slice.ports.begin(), slice.ports.end());
  }
  expect(same(before, plan(subject)), "the order of facts does not matter");
}

bool Simulation::way_exists(const Service& service) const {
  const bool local = service.spec.external_traffic_policy == TrafficPolicy::Local;
  const auto takes = [](const auto& item) { return takes_traffic(item.second); };
  const bool nodes = local ? std::all_of(nodes_.begin(), nodes_.end(), takes)
                           : std::any_of(nodes_.begin(), nodes_.end(), takes);
  switch (datapath_for(request_of(service), policy_)) {
    case Datapath::Direct:
      return direct_works_;
    case Datapath::NodePort:
      return nodes;
    case Datapath::Auto:
      break;
  }
  return direct_works_ || (nodes && service.spec.allocate_node_ports);
}

bool Simulation::has_room(const Subject& subject, const Verdict& verdict) const {
  if (network_.at(IpFamily::V4).pools.empty()) return true;  // a /28 is enough for all of them
  const auto network = network_for(subject);
  return std::all_of(verdict.families.begin(), verdict.families.end(), [&](IpFamily family) {
    return verdict.addresses.contains(family) || highest_free(network.at(family)) ||
           !reported_addresses(*subject.object, family).empty();
  });
}

bool Simulation::can_be_served(const Subject& subject, const Verdict& verdict) const {
  return way_exists(*subject.object) && has_room(subject, verdict) &&
         !is_failing_as_asked(*subject.object);
}

void Simulation::check_outcome() {
  for (auto& subject : subjects_) {
    if (!subject.object) {
      expect(!subject.container, "a Service that is gone has no proxy");
      continue;
    }
    const auto& service = *subject.object;
    if (!wants_load_balancer(service)) {
      expect(!subject.container && !was_ours(service) && service.finalizers.empty() &&
                 service.status == ServiceStatus{},
             "who was let go carries nothing of ours");
      continue;
    }
    const auto verdict = verdict_on(subject);
    expect(last_observed(service) == observed_hash(service, policy_),
           "what was acted on last is remembered");
    expect(service.status.conditions.empty() || (policy_.conditions && !drops_.conditions),
           "no conditions where there are none");
    if (verdict.outcome == Outcome::Refuse)
      check_refused(subject);
    else if (can_be_served(subject, verdict))
      check_served(subject, verdict);
    else
      check_unserved(subject, verdict);
  }
}

void Simulation::check_refused(const Subject& subject) {
  const auto& service = *subject.object;
  const auto conditions = reported_conditions(subject);
  const auto* serving = find_condition(conditions, kServingCondition);
  expect(serving != nullptr && serving->reason == "Unsupported", "refusals are reported");
  expect(!subject.container && service.status.ingress.empty(),
         "who is refused has no address and no proxy");
}

void Simulation::check_served(const Subject& subject, const Verdict& verdict) {
  const auto& service = *subject.object;
  const auto conditions = reported_conditions(subject);
  expect(is_true(conditions, kServingCondition) && !is_true(conditions, kProvisioningCondition),
         "who can be served is served in the end");
  expect(is_true(conditions, kDegradedCondition) == (verdict.outcome == Outcome::Degrade),
         "Degraded is reported exactly when it applies");
  expect(service.status.ingress.size() == verdict.families.size(),
         "each family that is served has its address");
  if (!subject.container) return expect(false, "who is served has a proxy");
  const auto reported = as_reported(service, subject.memory.kept.report, now_).status.ingress;
  expect(listens_as_reported(subject.container->config, reported) &&
             subject.container->config.listeners.size() ==
                 verdict.ports.size() * verdict.families.size(),
         "every open port has its listener");
}

/// A Service that cannot be served may still be served as before, but never without a path.
void Simulation::check_unserved(const Subject& subject, const Verdict& verdict) {
  const auto& service = *subject.object;
  const bool serving = is_true(reported_conditions(subject), kServingCondition);
  if (is_failing_as_asked(service) && has_room(subject, verdict))
    expect(!serving && !subject.container, "who fails as asked has no proxy");
  const bool any_node = std::any_of(nodes_.begin(), nodes_.end(),
                                    [](const auto& item) { return takes_traffic(item.second); });
  if (datapath_for(request_of(service), policy_) == Datapath::NodePort && !any_node &&
      has_room(subject, verdict))
    expect(!serving, "no way, no Serving");
}

}  // namespace kindlb::test

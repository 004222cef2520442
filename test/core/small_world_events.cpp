// What happens to the small world, and what must hold whatever happens.
#include "core/small_world.hpp"

#include <algorithm>

namespace kindlb::test {

using namespace core;

namespace {

bool wants_load_balancer(const Service& service) {
  return service.spec.type == ServiceType::LoadBalancer && !service.deleting;
}

/// The proxy listens on exactly the open ports, at exactly the reported addresses.
bool listens_as_reported(const ProxyConfig& config, const std::vector<Ingress>& ingress) {
  std::vector<std::string> said;
  for (const auto& entry : ingress)
    for (const auto& port : entry.ports)
      if (port.error.empty())
        said.push_back(entry.ip + " " + std::to_string(port.port) + name_of(port.protocol));
  std::vector<std::string> done;
  for (const auto& listener : config.listeners)
    done.push_back(listener.address.text() + " " + std::to_string(listener.port) +
                   name_of(listener.protocol));
  return said == done;
}

std::size_t open_ports(const Service& service) {
  return static_cast<std::size_t>(
      std::count_if(service.spec.ports.begin(), service.spec.ports.end(),
                    [](const ServicePort& port) { return port.protocol == Protocol::Tcp; }));
}

bool same(const Plan& a, const Plan& b) {
  return a.write == b.write && a.events == b.events && a.claim == b.claim &&
         a.addresses == b.addresses && a.apply == b.apply && a.revision == b.revision &&
         a.probes == b.probes && a.remove_proxy == b.remove_proxy && a.teardown == b.teardown;
}

}  // namespace

// ---- events ------------------------------------------------------------------------------------

void SmallWorld::create(Subject& subject) {
  const auto name = "s" + std::to_string(births_++);
  auto builder = a_service().named("default/" + name);
  builder.with_port(80);
  if (dice_.one_in(2)) builder.with_port(443);
  if (dice_.one_in(6)) builder.with_port(9, Protocol::Sctp);
  if (dice_.one_in(6)) builder.with_affinity();
  if (dice_.one_in(10)) builder.requiring("Teleport");
  subject = {};
  subject.object = builder.build();
  subject.slices = {a_slice().of(*subject.object).called(name + "-1"),
                    a_slice().of(*subject.object).called(name + "-2")};
  move_endpoints(subject);
}

SmallWorld::Subject& SmallWorld::somebody() {
  return subjects_[dice_.below(static_cast<std::uint32_t>(subjects_.size()))];
}

void SmallWorld::happen() {
  auto& subject = somebody();
  if (!subject.object) return create(subject);
  switch (dice_.below(8)) {
    case 0:
    case 1:
      return edit(subject);
    case 2:
      return move_endpoints(subject);
    case 3:
    case 4:
      return hurt(subject);
    case 5:
      return change_nodes();
    case 6:
      direct_works_ = dice_.one_in(2);
      return;
    default:
      return crash();
  }
}

void SmallWorld::edit(Subject& subject) {
  auto& service = *subject.object;
  auto& spec = service.spec;
  switch (dice_.below(9)) {
    case 0:
      spec.ports = a_service().with_port(80).with_port(8443).build().spec.ports;
      break;
    case 1:
      spec.ports = a_service().with_port(80).build().spec.ports;
      break;
    case 2:
      spec.ports = a_service().with_port(9, Protocol::Sctp).build().spec.ports;
      break;
    case 3:
      spec.affinity = spec.affinity == Affinity::None ? Affinity::ClientIp : Affinity::None;
      break;
    case 4:
      spec.required_features =
          dice_.one_in(2) ? std::vector<std::string>{"Teleport"} : std::vector<std::string>{};
      break;
    case 5:
      service.annotations["kindlb.dev/note"] = std::to_string(dice_.below(3));
      break;
    case 6:
      spec.type = spec.type == ServiceType::LoadBalancer ? ServiceType::ClusterIp
                                                         : ServiceType::LoadBalancer;
      break;
    case 7:
      spec.ports[0].node_port = static_cast<std::uint16_t>(31000 + dice_.below(3));
      break;
    default:
      service.deleting = true;
      if (service.finalizers.empty()) subject.object.reset();
      return;
  }
  for (auto& slice : subject.slices) {
    const EndpointSlice fresh = a_slice().of(service);
    slice.ports = fresh.ports;
  }
}

void SmallWorld::move_endpoints(Subject& subject) {
  for (auto& slice : subject.slices) {
    slice.endpoints.clear();
    for (auto count = dice_.below(3); count > 0; --count)
      slice.endpoints.push_back({.address = IpAddress::v4(0x0af40000U + dice_.below(8)),
                                 .ready = !dice_.one_in(4),
                                 .terminating = dice_.one_in(4),
                                 .node = "a"});
  }
}

void SmallWorld::hurt(Subject& subject) {
  switch (dice_.below(4)) {
    case 0:
      subject.engine_fails = true;
      return;
    case 1:
      subject.envoy_rejects = true;
      return;
    case 2:
      subject.container.reset();
      subject.memory.sent = {};
      subject.memory.reach = Reach::Unknown;
      return;
    default:
      if (!subject.container) return;
      subject.container->live = false;
      subject.container->trouble = "killed by signal 9";
      if (dice_.one_in(2)) subject.container->acknowledged = {};
  }
}

void SmallWorld::change_nodes() {
  auto& node = nodes_[dice_.one_in(2) ? "a" : "b"];
  if (dice_.one_in(2))
    node.excluded = !node.excluded;
  else
    node.ready = !node.ready;
}

/// Messages on the way arrive all the same; who sent them is not there to hear the answer.
void SmallWorld::crash() {
  for (auto& subject : subjects_) {
    if (dice_.one_in(2)) deliver(subject);
    subject.memory = {};
  }
}

// ---- promises ----------------------------------------------------------------------------------

void SmallWorld::expect(bool holds, const char* promise) {
  if (!holds) broken_.emplace_back(promise);
}

void SmallWorld::check_plan(const Subject& subject, const Plan& plan) {
  const auto& service = *subject.object;
  const bool served = wants_load_balancer(service) && !is_refused(service);
  if (!served) {
    expect(!plan.claim && !plan.apply && plan.addresses.empty(),
           "who is refused or let go gets no address and no proxy");
    return;
  }
  const auto observed = service.annotations.find(kObservedAnnotation);
  const bool announced = observed != service.annotations.end() &&
                         observed->second == observed_hash(service, policy_) &&
                         has_finalizer(service);
  expect(announced || (!plan.claim && !plan.apply), "nothing is begun before the write for it");
  const auto reported = reported_addresses(service, IpFamily::V4);
  expect(reported.empty() || plan.addresses == std::vector{reported[0]},
         "who has an address keeps it");
  expect(!plan.remove_proxy, "who is served keeps its proxy");
  expect(!plan.apply || plan.revision == revision_of(*plan.apply), "a revision names its content");
}

/// Asked of the proxy itself, not of what kindlb believes about it.
void SmallWorld::check_serving(const Subject& subject, const StatusApply& write) {
  if (!is_true(write.conditions, kServingCondition)) return;
  const auto& container = subject.container;
  expect(container && container->live && !container->acknowledged.empty(),
         "Serving needs a proxy that confirmed something");
  if (!container || is_true(write.conditions, kProvisioningCondition)) return;
  expect(listens_as_reported(container->config, write.ingress),
         "Serving reports what the proxy confirmed");
}

void SmallWorld::check_addresses() {
  std::map<IpAddress, const Subject*> holder;
  const auto give = [&](const IpAddress& address, const Subject& subject) {
    const auto [known, fresh] = holder.emplace(address, &subject);
    expect(fresh || known->second == &subject, "an address is never given to two Services");
  };
  for (const auto& subject : subjects_) {
    if (subject.object && was_ours(*subject.object))
      for (const auto& address : reported_addresses(*subject.object, IpFamily::V4))
        give(address, subject);
    if (!subject.container) continue;
    for (const auto& address : subject.container->addresses) give(address, subject);
  }
}

void SmallWorld::check_order() {
  auto& subject = somebody();
  if (!subject.object) return;
  const auto before = plan(subject);
  std::reverse(subject.slices.begin(), subject.slices.end());
  for (auto& slice : subject.slices) {
    std::reverse(slice.endpoints.begin(), slice.endpoints.end());
    std::reverse(slice.ports.begin(), slice.ports.end());
  }
  expect(same(before, plan(subject)), "the order of facts does not matter");
}

bool SmallWorld::way_exists() const {
  const bool any_node = std::any_of(nodes_.begin(), nodes_.end(),
                                    [](const auto& item) { return takes_traffic(item.second); });
  return any_node || (policy_.datapath == Datapath::Auto && direct_works_);
}

void SmallWorld::check_outcome() {
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
    } else if (is_refused(service)) {
      const auto* serving = find_condition(service.status.conditions, kServingCondition);
      expect(serving != nullptr && serving->reason == "Unsupported", "refusals are told");
      expect(!subject.container && service.status.ingress.empty(),
             "who is refused has no address and no proxy");
    } else if (way_exists()) {
      check_served(subject);
    } else if (policy_.datapath == Datapath::NodePort) {
      expect(!is_true(service.status.conditions, kServingCondition), "no way, no Serving");
    }
  }
}

void SmallWorld::check_served(const Subject& subject) {
  const auto& service = *subject.object;
  const auto& conditions = service.status.conditions;
  expect(is_true(conditions, kServingCondition) && !is_true(conditions, kProvisioningCondition),
         "who can be served is served in the end");
  expect(service.annotations.at(kObservedAnnotation) == observed_hash(service, policy_),
         "what was acted on last is remembered");
  const bool degraded = is_true(conditions, kDegradedCondition);
  expect(degraded == (service.spec.affinity == Affinity::ClientIp ||
                      open_ports(service) != service.spec.ports.size()),
         "Degraded is told when it is so, and only then");
  if (!subject.container) return expect(false, "who is served has a proxy");
  expect(listens_as_reported(subject.container->config, service.status.ingress) &&
             subject.container->config.listeners.size() == open_ports(service),
         "every open port has its listener");
}

}  // namespace kindlb::test

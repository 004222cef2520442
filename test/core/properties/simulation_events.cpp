// The random events of the simulation.
#include "core/properties/simulation.hpp"

namespace kindlb::test {

using namespace core;

Simulation::Subject& Simulation::random_subject() {
  return subjects_[dice_.below(static_cast<std::uint32_t>(subjects_.size()))];
}

void Simulation::random_event() {
  auto& subject = random_subject();
  if (!subject.object) return create(subject);
  switch (dice_.below(8)) {
    case 0:
    case 1:
      return edit(subject);
    case 2:
      return move_endpoints(subject);
    case 3:
    case 4:
      return inject_fault(subject);
    case 5:
      return change_nodes();
    case 6:
      direct_works_ = dice_.one_in(2);
      return;
    default:
      return crash();
  }
}

void Simulation::edit(Subject& subject) {
  auto& service = *subject.object;
  switch (dice_.below(8)) {
    case 0:
    case 1:
      edit_request(service);
      break;
    case 2:
    case 3:
      edit_annotation(service);
      break;
    case 4:
      edit_ports(service);
      break;
    case 5:
      service.annotations["kindlb.dev/note"] = std::to_string(dice_.below(3));
      break;
    case 6:
      service.spec.type = service.spec.type == ServiceType::LoadBalancer
                              ? ServiceType::ClusterIp
                              : ServiceType::LoadBalancer;
      break;
    default:
      service.deleting = true;
      if (service.finalizers.empty()) subject.object.reset();
      return;
  }
  subject.slices_lag = true;
  if (!dice_.one_in(3)) update_slices(subject);
}

void Simulation::update_slices(Subject& subject) {
  subject.slices_lag = false;
  if (!subject.object) return;
  for (auto& slice : subject.slices) {
    slice.ports.clear();
    for (const auto& port : subject.object->spec.ports)
      slice.ports.push_back({port.name, port.protocol,
                             static_cast<std::uint16_t>(std::stoi(port.target_port))});
  }
}

bool Simulation::update_all_slices() {
  bool any = false;
  for (auto& subject : subjects_) {
    any = any || subject.slices_lag;
    update_slices(subject);
  }
  return any;
}

void Simulation::move_endpoints(Subject& subject) {
  for (auto& slice : subject.slices) {
    slice.endpoints.clear();
    for (auto count = dice_.below(3); count > 0; --count)
      slice.endpoints.push_back({.address = slice.family == IpFamily::V4
                                                ? IpAddress::v4(0x0af40000U + dice_.below(8))
                                                : ip("fc00:244::" + std::to_string(dice_.below(8))),
                                 .ready = !dice_.one_in(4),
                                 .terminating = dice_.one_in(4),
                                 .node = "a"});
  }
}

void Simulation::inject_fault(Subject& subject) {
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

void Simulation::change_nodes() {
  auto& node = nodes_[dice_.one_in(2) ? "a" : "b"];
  if (dice_.one_in(2))
    node.excluded = !node.excluded;
  else
    node.ready = !node.ready;
}

/// Messages on the way arrive all the same; who sent them is not there to hear the answer.
void Simulation::crash() {
  for (auto& subject : subjects_) {
    if (dice_.one_in(2)) deliver(subject);
    subject.memory = {};
  }
}

}  // namespace kindlb::test

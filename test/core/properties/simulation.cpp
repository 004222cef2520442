#include "core/properties/simulation.hpp"

#include <algorithm>

namespace kindlb::test {

using namespace core;

Simulation::Simulation(std::uint64_t seed) : dice_(seed) {
  nodes_["a"] = a_node("a", "172.18.0.2");
  nodes_["b"] = a_node("b", "172.18.0.3");
  choose_policy();
  subjects_.resize(3);
  for (auto& subject : subjects_) create(subject);
}

// ---- what kindlb sees and does -----------------------------------------------------------------

std::set<IpAddress> Simulation::taken_by_others(const Subject& subject) const {
  std::set<IpAddress> taken;
  for (const auto& other : subjects_) {
    if (&other == &subject) continue;
    taken.insert(other.memory.kept.reserved.begin(), other.memory.kept.reserved.end());
    if (other.container)
      taken.insert(other.container->addresses.begin(), other.container->addresses.end());
    if (!other.object || !was_ours(*other.object)) continue;
    for (const auto family : {IpFamily::V4, IpFamily::V6})
      for (const auto& address : reported_addresses(*other.object, family)) taken.insert(address);
  }
  return taken;
}

std::map<IpFamily, AddressSpace> Simulation::network_for(const Subject& subject) const {
  auto out = network_;
  const auto others = taken_by_others(subject);
  for (auto& [family, space] : out) space.taken.insert(others.begin(), others.end());
  return out;
}

Verdict Simulation::verdict_on(const Subject& subject) const {
  const auto network = network_for(subject);
  NetworkEnvironment place{.families = {}, .network = &network};
  for (const auto& [family, space] : network) place.families.insert(family);
  return evaluate(as_reported(*subject.object, subject.memory.kept.report, now_), policy_, place);
}

ProxyView Simulation::proxy_view(const Subject& subject) const {
  ProxyView out;
  out.present = subject.container.has_value();
  out.coming = subject.memory.coming;
  out.sent = subject.memory.sent.revision;
  out.rejected = subject.memory.rejected;
  out.rejection = out.rejected.empty() ? "" : "Envoy says no";
  out.reach = subject.memory.reach;
  if (!subject.container) return out;
  out.live = subject.container->live;
  out.trouble = subject.container->trouble;
  out.acknowledged = out.live ? subject.container->acknowledged : Revision{};
  out.addresses = subject.container->addresses;
  return out;
}

ServiceSnapshot Simulation::view(const Subject& subject) const {
  ServiceSnapshot out;
  out.service = &*subject.object;
  for (const auto& slice : subject.slices) out.slices.push_back(&slice);
  out.nodes = &nodes_;
  out.network = network_for(subject);
  out.proxy = proxy_view(subject);
  out.memory = subject.memory.kept;
  out.now = now_;
  return out;
}

Plan Simulation::plan(const Subject& subject) {
  ++plans_;
  return plan_service(view(subject), policy_);
}

bool Simulation::step(Subject& subject) {
  if (!subject.object) return false;
  now_ += std::chrono::seconds(dice_.below(2));
  verdict_ = verdict_on(subject);
  const auto next = plan(subject);
  check_plan(subject, next);
  subject.memory.kept = remember(subject.memory.kept, next);
  if (next.empty()) return false;
  carry_out(subject, next);
  check_addresses();
  return true;
}

/// In the order kindlb does it; it may die before each piece.
void Simulation::carry_out(Subject& subject, const Plan& plan) {
  const auto dies = [&] { return may_crash_ && dice_.one_in(12); };
  if (plan.write && dies()) return crash();
  if (plan.write) write(subject, plan);
  if (plan.claim && dies()) return crash();
  if (plan.claim) subject.memory.coming = true;
  if (plan.apply && dies()) return crash();
  if (plan.apply) {
    subject.memory.sent = plan;
    if (!plan.probes.empty()) subject.memory.reach = Reach::Unknown;
  }
  if (plan.remove_proxy && dies()) return crash();
  if (plan.remove_proxy) {
    subject.container.reset();
    subject.memory = {};
  }
  if (plan.teardown != Teardown::None && dies()) return crash();
  tear_down(subject, plan.teardown);
}

void Simulation::write(Subject& subject, const Plan& plan) {
  expect(plan.write->uid == subject.object->uid,
         "writes are for the Service they were planned for");
  expect(policy_.conditions || plan.write->conditions.empty(),
         "conditions that are switched off are not written");
  check_serving(subject, plan.report->meant);
  check_claim(subject, plan.report->meant);
  check_write(subject, *plan.write);
  check_times(subject, plan.report->meant);
  subject.object = accepted(*subject.object, without(*plan.write, drops_));
  subject.memory.kept = remember_answer(subject.memory.kept, plan, *subject.object);
}

std::vector<Condition> Simulation::reported_conditions(const Subject& subject) const {
  return as_reported(*subject.object, subject.memory.kept.report, now_).status.conditions;
}

void Simulation::tear_down(Subject& subject, Teardown how) {
  if (how == Teardown::None) return;
  expect(!subject.container.has_value(), "the proxy goes before the finalizer");
  subject.memory.kept.reserved.clear();
  subject.memory.kept.report.reset();
  if (how == Teardown::DropFinalizer) {
    subject.object.reset();
    return;
  }
  subject.object->finalizers.clear();
  subject.object->annotations.erase(kObservedAnnotation);
  subject.object->status = {};
}

bool Simulation::deliver(Subject& subject) {
  bool any = false;
  if (std::exchange(subject.memory.coming, false)) {
    any = true;
    if (std::exchange(subject.engine_fails, false))
      subject.memory.kept.trouble = Trouble{"no container"};
    else
      subject.container = Container{};
  }
  if (subject.container && !subject.container->live) {
    any = subject.container->live = true;
    subject.container->trouble.clear();
    subject.memory.reach = Reach::Unknown;
  }
  if (!subject.memory.sent.revision.empty()) {
    any = true;
    answer_apply(subject);
  }
  return any;
}

void Simulation::answer_apply(Subject& subject) {
  const auto sent = std::exchange(subject.memory.sent, {});
  if (!subject.container) return;
  if (std::exchange(subject.envoy_rejects, false)) {
    subject.memory.rejected = sent.revision;
    return;
  }
  auto& container = *subject.container;
  container.config = *sent.apply;
  container.acknowledged = sent.revision;
  container.addresses = sent.addresses;
  const bool reached = !sent.apply->direct || direct_works_;
  if (!sent.probes.empty()) subject.memory.reach = reached ? Reach::Reached : Reach::Unreachable;
}

bool Simulation::retry(Subject& subject) {
  auto& memory = subject.memory;
  const auto path = memory.reach == Reach::Unreachable ? fall_back(memory.kept.path) : std::nullopt;
  if (memory.rejected.empty() && !memory.kept.trouble && !path) return false;
  memory.rejected = {};
  memory.kept.trouble.reset();
  if (path) {
    memory.reach = Reach::Unknown;
    memory.kept.path = *path;
  }
  return true;
}

bool Simulation::anything_pending() const {
  return std::any_of(subjects_.begin(), subjects_.end(), [](const Subject& subject) {
    return subject.memory.coming || !subject.memory.sent.revision.empty() ||
           (subject.container && !subject.container->live);
  });
}

bool Simulation::settle() {
  // The back-off of former failures has passed.
  for (auto& subject : subjects_)
    if (subject.memory.reach == Reach::Unreachable) subject.memory.reach = Reach::Unknown;
  bool waited = false;
  for (int round = 0; round < 60; ++round) {
    may_crash_ = may_crash_ && round < 20;
    bool busy = false;
    for (auto& subject : subjects_) {
      busy = step(subject) || busy;
      if (subject.slices_lag && dice_.one_in(8)) {
        update_slices(subject);
        busy = true;
      }
      if (round >= 20 || !dice_.one_in(4)) busy = deliver(subject) || busy;
    }
    for (auto& subject : subjects_)
      if (!busy && !anything_pending()) busy = retry(subject);
    if (busy || anything_pending()) {
      waited = false;
    } else if (!waited) {
      // Let injected delays pass.
      waited = true;
      now_ += std::chrono::minutes(1);
    } else if (update_all_slices()) {
      waited = false;
    } else {
      may_crash_ = true;
      return true;
    }
  }
  return false;
}

}  // namespace kindlb::test

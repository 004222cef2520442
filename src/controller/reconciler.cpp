#include "kindlb/controller/reconciler.hpp"

#include "kindlb/core/backoff.hpp"
#include "kindlb/core/eligibility.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <utility>

namespace kindlb::controller {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStrangerMemory{60};

double jitter() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

}  // namespace

// ---- clusters ----------------------------------------------------------------------------------

void Reconciler::add_cluster(const std::string& name, const std::string& network,
                             std::shared_ptr<kube::Api> api) {
  auto& cluster = clusters_[name];
  cluster.network = network;
  cluster.api = std::move(api);
  parts_.networks.refresh(network);
}

void Reconciler::remove_cluster(const std::string& name) {
  const auto found = clusters_.find(name);
  if (found == clusters_.end()) return;
  for (const auto& [key, record] : found->second.records) {
    parts_.fleet.remove(record.uid);
    by_unit_.erase(record.uid);
  }
  clusters_.erase(found);
}

std::set<std::string> Reconciler::networks() const {
  std::set<std::string> out;
  for (const auto& [name, cluster] : clusters_) out.insert(cluster.network);
  return out;
}

void Reconciler::set_nodes_running(const std::string& name, bool running) {
  const auto found = clusters_.find(name);
  if (found == clusters_.end() || found->second.nodes_running == running) return;
  found->second.nodes_running = running;
  for (const auto& [key, record] : found->second.records) dirty(key);
}

void Reconciler::update(const std::string& name, const std::function<Store::Keys(Store&)>& edit) {
  const auto found = clusters_.find(name);
  if (found == clusters_.end()) return;
  auto& cluster = found->second;
  for (const auto& key : edit(cluster.store)) dirty(key);
  if (!cluster.was_synced && cluster.store.synced()) {
    cluster.was_synced = true;
    spdlog::info("cluster {}: {} Services, {} nodes", name, cluster.store.services().size(),
                 cluster.store.nodes().size());
    for (const auto& [key, service] : cluster.store.services()) dirty(key);
    const bool all = std::all_of(clusters_.begin(), clusters_.end(),
                                 [](const auto& item) { return item.second.was_synced; });
    if (all) open_allocation();
    sweep_orphans();
  }
}

void Reconciler::open_allocation() {
  if (std::exchange(allocation_open_, true)) return;
  plan_all();
}

void Reconciler::plan_all() {
  for (const auto& [name, cluster] : clusters_)
    for (const auto& [key, service] : cluster.store.services()) dirty(key);
  sweep_orphans();
}

void Reconciler::network_changed(const std::string& network) {
  for (const auto& [name, cluster] : clusters_)
    if (cluster.network == network)
      for (const auto& [key, record] : cluster.records) dirty(key);
}

/// Proxies whose Service is no longer there, or is another one of the same name.
void Reconciler::sweep_orphans() {
  if (!parts_.fleet.discovered()) return;
  for (const auto& holding : parts_.fleet.holdings()) {
    const auto slash = holding.owner.find('/');
    const auto found = clusters_.find(holding.owner.substr(0, slash));
    if (found == clusters_.end() || !found->second.store.synced()) continue;
    const auto& services = found->second.store.services();
    const bool wanted = std::any_of(services.begin(), services.end(), [&](const auto& item) {
      return item.second.uid == holding.unit &&
             core::claim_of(item.second, parts_.policy) != core::Claim::NotOurs;
    });
    if (wanted) continue;
    spdlog::info("{}: the Service is gone; removing its proxy", holding.owner);
    parts_.fleet.remove(holding.unit);
  }
}

// ---- the queue ---------------------------------------------------------------------------------

void Reconciler::dirty(const core::ServiceKey& key) {
  pending_.insert(key);
  if (std::exchange(run_planned_, true)) return;
  parts_.loop.post([this] { run(); });
}

void Reconciler::run() {
  run_planned_ = false;
  for (const auto& key : std::exchange(pending_, {})) reconcile(key);
  if (allocation_open_ && parts_.fleet.discovered() && !std::exchange(told_settled_, true)) {
    std::size_t ours = 0;
    for (const auto& [name, cluster] : clusters_) ours += cluster.records.size();
    spdlog::info("in charge of {} Services", ours);
  }
}

void Reconciler::unit_changed(const std::string& unit) {
  if (const auto found = by_unit_.find(unit); found != by_unit_.end()) dirty(found->second);
}

Reconciler::Record* Reconciler::find_record(const core::ServiceKey& key) {
  const auto cluster = clusters_.find(key.cluster);
  if (cluster == clusters_.end()) return nullptr;
  const auto record = cluster->second.records.find(key);
  return record == cluster->second.records.end() ? nullptr : &record->second;
}

// ---- one Service -------------------------------------------------------------------------------

void Reconciler::reconcile(const core::ServiceKey& key) {
  const auto found = clusters_.find(key.cluster);
  if (found == clusters_.end()) return;
  auto& cluster = found->second;
  if (!cluster.store.synced() || !parts_.fleet.discovered()) return;
  const auto* service = cluster.store.service(key);
  if (service == nullptr) return forget(cluster, key);

  const bool known = cluster.records.contains(key);
  if (!known && core::claim_of(*service, parts_.policy) == core::Claim::NotOurs) return;
  auto& record = record_of(cluster, *service);
  if (record.releasing || record.released == service->resource_version) return;
  record.released.clear();
  const auto world = gather(cluster, *service, record);
  if (world.proxy.present && !world.proxy.live && cluster.nodes_running)
    parts_.fleet.start(record.uid);
  carry_out(cluster, *service, record, plan_for(world));
}

core::Plan Reconciler::plan_for(const core::ServiceWorld& world) const {
  if (!draining_) return core::plan_service(world, parts_.policy);
  core::Plan plan;
  plan.remove_proxy = world.proxy.present || world.proxy.coming;
  if (!plan.remove_proxy && core::was_ours(*world.service))
    plan.teardown = core::Teardown::TakeBack;
  return plan;
}

void Reconciler::forget(Cluster& cluster, const core::ServiceKey& key) {
  const auto found = cluster.records.find(key);
  if (found == cluster.records.end()) return;
  parts_.fleet.remove(found->second.uid);
  by_unit_.erase(found->second.uid);
  cluster.records.erase(found);
}

Reconciler::Record& Reconciler::record_of(Cluster& cluster, const core::Service& service) {
  if (const auto known = cluster.records.find(service.key);
      known != cluster.records.end() && known->second.uid != service.uid)
    forget(cluster, service.key);  // a namesake: nothing of the former one is its business
  auto& record = cluster.records[service.key];
  const auto hash = core::observed_hash(service, parts_.policy);
  if (record.uid.empty()) {
    record.uid = service.uid;
    by_unit_.insert_or_assign(service.uid, service.key);
  }
  if (record.hash != hash) {
    record.hash = hash;
    record.since = steady_clock::now();
    record.trouble.reset();
    record.failures = 0;
  }
  return record;
}

core::ServiceWorld Reconciler::gather(const Cluster& cluster, const core::Service& service,
                                      const Record& record) const {
  core::ServiceWorld world;
  world.service = &service;
  world.slices = cluster.store.slices_of(service.key);
  world.nodes = &cluster.store.nodes();
  world.network = address_spaces(cluster, service);
  world.reserved = record.reserved;
  world.proxy = parts_.fleet.view(record.uid);
  world.told = record.told;
  world.trouble = record.trouble;
  if (const auto error = parts_.networks.error(cluster.network);
      !error.empty() && world.network.empty())
    world.trouble = core::Trouble{"The docker network cannot be used: " + error};
  world.direct_blocked = record.direct_blocked;
  world.age =
      std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - record.since);
  world.may_allocate = allocation_open_;
  world.now = parts_.now();
  return world;
}

std::map<core::IpFamily, core::AddressSpace> Reconciler::address_spaces(
    const Cluster& cluster, const core::Service& service) const {
  std::map<core::IpFamily, core::AddressSpace> out;
  const auto* facts = parts_.networks.find(cluster.network);
  if (facts == nullptr) return out;
  auto taken = facts->in_use;
  mark_taken(cluster, service, taken);
  for (const auto& [family, subnet] : facts->subnets) {
    auto& space = out[family] = {.subnet = subnet, .taken = taken};
    for (const auto& range : parts_.policy.ip_ranges)
      if (range.family() == family) space.pools.push_back(range);
  }
  return out;
}

/// What other Services have, were promised, or report; and what a stranger answered for lately.
void Reconciler::mark_taken(const Cluster& cluster, const core::Service& service,
                            std::set<core::IpAddress>& taken) const {
  std::set<core::IpAddress> own;
  for (const auto& [name, other] : clusters_) {
    if (other.network != cluster.network) continue;
    for (const auto& [key, record] : other.records)
      if (record.uid != service.uid) taken.insert(record.reserved.begin(), record.reserved.end());
    for (const auto& [key, neighbour] : other.store.services()) {
      if (neighbour.uid == service.uid || !core::was_ours(neighbour)) continue;
      for (const auto family : {core::IpFamily::V4, core::IpFamily::V6})
        for (const auto& address : core::reported_addresses(neighbour, family))
          taken.insert(address);
    }
  }
  for (const auto& [address, unit] : parts_.fleet.held_addresses(cluster.network)) {
    if (unit == service.uid)
      own.insert(address);
    else
      taken.insert(address);
  }
  const auto now = steady_clock::now();
  for (const auto& [address, until] : strangers_)
    if (until > now) taken.insert(address);
  for (const auto& address : own) taken.erase(address);
}

void Reconciler::carry_out(Cluster& cluster, const core::Service& service, Record& record,
                           core::Plan plan) {
  if (!plan.addresses.empty()) record.reserved = plan.addresses;
  if (!plan.write && !plan.told.hash.empty()) record.told = plan.told;
  const auto proxy = parts_.fleet.view(record.uid);
  const auto owner = service.key.text();
  const auto revision = plan.revision;
  if (plan.write && !plan.prepare.empty() && !proxy.present)
    parts_.fleet.prepare(record.uid, cluster.network, plan.prepare);
  if (plan.claim) parts_.fleet.claim(record.uid, owner, cluster.network);
  if (plan.apply) parts_.fleet.apply(record.uid, *plan.apply, revision, plan.probes);
  if (plan.remove_proxy) parts_.fleet.remove(record.uid);
  if (plan.again) plan_again(service.key, record, *plan.again);
  look_after_failures(service, record, plan, proxy);
  if (plan.teardown != core::Teardown::None) {
    // A write under way would put back what is being taken away; its end plans again.
    if (!record.writing) release(cluster, service, plan.teardown);
    return;
  }
  if (plan.write && !record.writing) write(cluster, service, std::move(plan));
}

void Reconciler::look_after_failures(const core::Service& service, Record& record,
                                     const core::Plan& plan, const core::ProxyView& proxy) {
  if (!proxy.present || plan.apply || proxy.live == false) return;
  if (proxy.address_refused && give_up_addresses(service, record)) {
    spdlog::warn("{}: {}; taking another address", service.key.text(), proxy.rejection);
    parts_.fleet.forget_failure(record.uid);
    return;
  }
  if (!proxy.rejection.empty()) return retry_later(service, record);
  const bool serving = core::is_true(service.status.conditions, core::kServingCondition);
  if (proxy.reach != core::Reach::Unreachable || serving) return;
  if (plan.may_fall_back && !record.direct_blocked) {
    spdlog::warn("{}: pods cannot be reached directly ({}); going through node ports",
                 service.key.text(), proxy.reach_detail);
    record.direct_blocked = true;
    parts_.fleet.forget_failure(record.uid);
    return;
  }
  retry_later(service, record);
}

/// Somebody answers for an address that was to be taken. Those in the status stay: clients know
/// them. False: there are no others.
bool Reconciler::give_up_addresses(const core::Service& service, Record& record) {
  std::vector<core::IpAddress> kept;
  bool any = false;
  for (const auto& address : record.reserved) {
    const auto reported = core::reported_addresses(service, address.family());
    if (std::find(reported.begin(), reported.end(), address) != reported.end()) {
      kept.push_back(address);
      continue;
    }
    strangers_.insert_or_assign(address, steady_clock::now() + kStrangerMemory);
    any = true;
  }
  record.reserved = std::move(kept);
  return any;
}

/// One timer per Service, the earliest: each pass asks again for what it still waits for.
void Reconciler::plan_again(const core::ServiceKey& key, Record& record,
                            std::chrono::milliseconds delay) {
  const auto when = steady_clock::now() + delay;
  if (record.again_at && *record.again_at <= when) return;
  record.again_at = when;
  parts_.loop.after(delay, [this, key, when] {
    auto* waiting = find_record(key);
    if (waiting == nullptr || waiting->again_at != when) return;
    waiting->again_at.reset();
    dirty(key);
  });
}

void Reconciler::retry_later(const core::Service& service, Record& record) {
  if (std::exchange(record.retry_planned, true)) return;
  const auto delay = core::delay_before(record.failures++, core::Backoff{}, jitter());
  parts_.loop.after(delay, [this, key = service.key, uid = record.uid] {
    auto* again = find_record(key);
    if (again == nullptr || again->uid != uid) return;
    again->retry_planned = false;
    again->trouble.reset();
    parts_.fleet.forget_failure(uid);
    dirty(key);
  });
}

void Reconciler::claim_failed(const std::string& unit, const core::Error& why) {
  const auto found = by_unit_.find(unit);
  if (found == by_unit_.end()) return;
  auto* record = find_record(found->second);
  const auto cluster = clusters_.find(found->second.cluster);
  if (record == nullptr || cluster == clusters_.end()) return;
  const auto* service = cluster->second.store.service(found->second);
  if (service == nullptr) return;
  record->trouble =
      core::Trouble{"No proxy could be started: " + why.operation + ": " + why.detail};
  spdlog::warn("{}: {}", found->second.text(), record->trouble->message);
  retry_later(*service, *record);
  dirty(found->second);
}

// ---- writes ------------------------------------------------------------------------------------

void Reconciler::write(Cluster& cluster, const core::Service& service, core::Plan plan) {
  cluster.records.at(service.key).writing = true;
  for (const auto& event : plan.events) {
    const auto level =
        event.type == core::EventType::Warning ? spdlog::level::warn : spdlog::level::info;
    spdlog::log(level, "{}: {}: {}", service.key.text(), event.reason, event.message);
  }
  parts_.api_work.submit([this, api = cluster.api, key = service.key, plan = std::move(plan)] {
    auto result = std::make_shared<core::Result<core::Service>>(api->apply_status(*plan.write));
    parts_.loop.post([this, key, uid = plan.write->uid, result] { written(key, uid, *result); });
    if (!result->ok()) return;
    for (const auto& event : plan.events)
      if (const auto sent = api->emit(**result, event); !sent.ok())
        spdlog::debug("{}: no Event: {}", key.text(), sent.error().text());
  });
}

void Reconciler::written(const core::ServiceKey& key, const std::string& uid,
                         const core::Result<core::Service>& result) {
  auto* record = find_record(key);
  if (record == nullptr || record->uid != uid) return;
  record->writing = false;
  spdlog::debug("{}: status {}", key.text(), result.ok() ? "written" : "not written");
  if (result.ok()) return take_answer(*record, *result);
  // Gone: the watch tells what became of it, and there is nothing to write to.
  if (result.error().kind == core::ErrorKind::NotFound) return;
  spdlog::warn("{}: cannot write the status: {}", key.text(), result.error().text());
  plan_again(key, *record, core::delay_before(record->failures++, core::Backoff{}, jitter()));
}

/// The watch may know better: that the Service is gone, or is a namesake by now.
void Reconciler::take_answer(Record& record, const core::Service& answer) {
  auto& store = clusters_.at(answer.key.cluster).store;
  const auto* known = store.service(answer.key);
  if (known != nullptr && known->uid == answer.uid) store.put_service(answer);
  const auto& conditions = answer.status.conditions;
  if (core::is_true(conditions, core::kServingCondition) &&
      !core::is_true(conditions, core::kProvisioningCondition))
    record.failures = 0;
  dirty(answer.key);
}

void Reconciler::release(Cluster& cluster, const core::Service& service, core::Teardown teardown) {
  // Somebody else's finalizer may keep it after ours has gone: that is not our business.
  if (teardown == core::Teardown::DropFinalizer && !core::has_finalizer(service)) return;
  cluster.records.at(service.key).releasing = true;
  const kube::ReleasePatch patch{service.key, service.uid, teardown == core::Teardown::TakeBack};
  spdlog::info("{}: released", service.key.text());
  parts_.api_work.submit([this, api = cluster.api, about = service, patch] {
    // Before the finalizer goes: afterwards there may be no object left to speak about.
    const core::EventNote note{core::EventType::Normal, "Deleted",
                               "The load balancer has been removed."};
    if (const auto sent = api->emit(about, note); !sent.ok())
      spdlog::debug("{}: no Event: {}", about.key.text(), sent.error().text());
    auto result = std::make_shared<core::Result<void>>(api->release(patch));
    parts_.loop.post([this, about, result] { released(about, *result); });
  });
}

void Reconciler::released(const core::Service& about, const core::Result<void>& result) {
  auto* record = find_record(about.key);
  if (record == nullptr || record->uid != about.uid) return;
  record->releasing = false;
  record->reserved.clear();
  if (result.ok()) {
    record->released = about.resource_version;  // until the watch shows what became of it
    return dirty(about.key);
  }
  spdlog::warn("{}: cannot release the Service: {}", about.key.text(), result.error().text());
  plan_again(about.key, *record, core::delay_before(record->failures++, core::Backoff{}, jitter()));
}

// ---- leaving -----------------------------------------------------------------------------------

void Reconciler::drain() {
  draining_ = true;
  for (const auto& [name, cluster] : clusters_)
    for (const auto& [key, record] : cluster.records) dirty(key);
}

bool Reconciler::drained() const {
  for (const auto& [name, cluster] : clusters_)
    for (const auto& [key, record] : cluster.records) {
      const auto* service = cluster.store.service(key);
      const auto proxy = parts_.fleet.view(record.uid);
      const bool ours = service != nullptr && core::was_ours(*service) && record.released.empty();
      if (ours || proxy.present || proxy.coming) return false;
    }
  return true;
}

}  // namespace kindlb::controller

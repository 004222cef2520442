#include "support/fakes/fake_proxy_host.hpp"

#include "kindlb/proxy/containers.hpp"

#include <utility>
#include <variant>

namespace kindlb::testing {

using controller::HostedProxy;
using core::Error;
using core::ErrorKind;
using protocol::EnvoyState;

// ---- scripting ---------------------------------------------------------------------------------

void FakeProxyHost::fail_next(const std::string& operation, Error error, int times) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < times; ++i) faults_[operation].push_back(error);
}

void FakeProxyHost::reject_next(protocol::RejectStage stage, const std::string& text, int times) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < times; ++i) refusals_.push_back({stage, text});
}

void FakeProxyHost::occupy_address(const core::IpAddress& address) {
  const std::lock_guard lock(mutex_);
  occupied_.insert(address);
}

void FakeProxyHost::block_direct_path(bool blocked) {
  const std::lock_guard lock(mutex_);
  direct_blocked_ = blocked;
}

void FakeProxyHost::mute(bool muted) {
  const std::lock_guard lock(mutex_);
  muted_ = muted;
}

void FakeProxyHost::block_sends(const std::string& id) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).clogged = true;
}

void FakeProxyHost::hide_state(const std::string& id) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).state_hidden = true;
}

void FakeProxyHost::limit_watches(const std::string& id, std::size_t watches) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).watches = watches;
}

void FakeProxyHost::make_outdated(const std::string& id) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).seen.current = false;
}

void FakeProxyHost::assign_to_other_kindlb(const std::string& id) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).seen.own_pool = false;
}

void FakeProxyHost::on_listing(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  listing_ = std::move(hook);
}

void FakeProxyHost::on_creating(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  creating_ = std::move(hook);
}

void FakeProxyHost::announce_heartbeats(std::chrono::milliseconds interval) {
  const std::lock_guard lock(mutex_);
  heartbeat_ = interval;
}

void FakeProxyHost::on_removing(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  removing_ = std::move(hook);
}

void FakeProxyHost::on_inspecting(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  inspecting_ = std::move(hook);
}

void FakeProxyHost::on_event(Event event) {
  const std::lock_guard lock(listener_mutex_);
  event_ = std::move(event);
}

void FakeProxyHost::set_listener(Listener* listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = listener;
}

// ---- behind our back ---------------------------------------------------------------------------

std::string FakeProxyHost::insert(const std::string& network) {
  const auto id = "p" + std::to_string(++born_);
  boxes_[id].seen = {.id = id, .name = "warm-" + id, .network = network, .running = true};
  return id;
}

std::string FakeProxyHost::add_warm(const std::string& network) {
  const std::lock_guard lock(mutex_);
  return insert(network);
}

void FakeProxyHost::break_channel(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    boxes_.at(id).connected = false;
  }
  close_channel(id, "the stream broke");
}

void FakeProxyHost::envoy_goes_down(const std::string& id, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_.at(id);
    box.envoy = EnvoyState::Down;
    for (auto& [unit, state] : box.units) state.acknowledged = false;
  }
  deliver(id, protocol::Status{.envoy = EnvoyState::Down, .restarts = 0, .text = why});
}

void FakeProxyHost::envoy_comes_up(const std::string& id) {
  protocol::Status status{.envoy = EnvoyState::Live, .restarts = 1};
  {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_.at(id);
    box.envoy = EnvoyState::Live;
    for (auto& [unit, state] : box.units) state.acknowledged = true;
    status.units = units(box);
  }
  deliver(id, std::move(status));
}

void FakeProxyHost::die(const std::string& id) {
  bool was_connected = false;
  {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_.at(id);
    box.seen.running = box.seen.paused = false;
    was_connected = std::exchange(box.connected, false);
  }
  if (was_connected) close_channel(id, "the container stopped");
  publish_event("die", id);
}

void FakeProxyHost::vanish(const std::string& id) {
  die(id);
  {
    const std::lock_guard lock(mutex_);
    boxes_.erase(id);
  }
  publish_event("destroy", id);
}

void FakeProxyHost::give_unit(const std::string& id, const protocol::UnitState& unit) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).units.insert_or_assign(unit.unit, unit);
}

void FakeProxyHost::forget_unit(const std::string& id, const std::string& unit) {
  const std::lock_guard lock(mutex_);
  boxes_.at(id).units.erase(unit);
}

// ---- looking -----------------------------------------------------------------------------------

std::vector<std::string> FakeProxyHost::ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [id, box] : boxes_) out.push_back(id);
  return out;
}

std::vector<protocol::UnitState> FakeProxyHost::units(const Box& box) const {
  std::vector<protocol::UnitState> out;
  for (const auto& [unit, state] : box.units) out.push_back(state);
  return out;
}

std::vector<protocol::UnitState> FakeProxyHost::units_of(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = boxes_.find(id);
  return found == boxes_.end() ? std::vector<protocol::UnitState>{} : units(found->second);
}

std::string FakeProxyHost::holder_of(const std::string& unit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, box] : boxes_)
    if (box.units.contains(unit)) return id;
  return {};
}

std::vector<core::Route> FakeProxyHost::routes_of(const std::string& unit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, box] : boxes_)
    if (const auto found = box.routes.find(unit); found != box.routes.end()) return found->second;
  return {};
}

bool FakeProxyHost::is_running(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return boxes_.contains(id) && boxes_.at(id).seen.running;
}

bool FakeProxyHost::is_connected(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return boxes_.contains(id) && boxes_.at(id).connected;
}

std::string FakeProxyHost::name_of(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return boxes_.contains(id) ? boxes_.at(id).seen.name : "";
}

// ---- the host ----------------------------------------------------------------------------------

std::optional<Error> FakeProxyHost::enter(const std::string& operation,
                                          const std::string& subject) {
  if (!journal_.enter(operation + " " + subject))
    return Error{ErrorKind::Cancelled, operation, "kindlb is dead"};
  const auto faults = faults_.find(operation);
  if (faults == faults_.end() || faults->second.empty()) return std::nullopt;
  auto error = std::move(faults->second.front());
  faults->second.pop_front();
  return error;
}

core::Result<std::vector<HostedProxy>> FakeProxyHost::list() {
  std::vector<HostedProxy> out;
  std::function<void()> hook;
  {
    const std::lock_guard lock(mutex_);
    if (auto error = enter("list", "")) return *error;
    for (const auto& [id, box] : boxes_) {
      out.push_back(box.seen);
      if (!box.state_hidden) out.back().state = {"fake", box.envoy, units(box), box.watches};
    }
    hook = std::exchange(listing_, nullptr);
  }
  if (hook) hook();
  return out;
}

core::Result<HostedProxy> FakeProxyHost::inspect(const std::string& id) {
  std::function<void()> hook;
  {
    const std::lock_guard lock(mutex_);
    hook = inspecting_;
  }
  if (hook) hook();
  const std::lock_guard lock(mutex_);
  if (auto error = enter("inspect", id)) return *error;
  const auto found = boxes_.find(id);
  if (found == boxes_.end()) return Error{ErrorKind::NotFound, "inspect", id};
  return found->second.seen;
}

core::Result<HostedProxy> FakeProxyHost::create(const std::string& network) {
  std::string id;
  std::function<void()> hook;
  {
    const std::lock_guard lock(mutex_);
    if (auto error = enter("create", network)) return *error;
    id = insert(network);
    hook = std::exchange(creating_, nullptr);
    boxes_.at(id).seen.running = !hook;
  }
  if (hook) hook();
  HostedProxy out;
  {
    const std::lock_guard lock(mutex_);
    const auto found = boxes_.find(id);
    if (found == boxes_.end()) return Error{ErrorKind::NotFound, "start", id};
    found->second.seen.running = true;
    out = found->second.seen;
  }
  publish_event("start", id);
  return out;
}

core::Result<void> FakeProxyHost::start(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    if (auto error = enter("start", id)) return *error;
    const auto found = boxes_.find(id);
    if (found == boxes_.end()) return Error{ErrorKind::NotFound, "start", id};
    if (std::exchange(found->second.seen.running, true)) return {};
    found->second.envoy = EnvoyState::Live;
  }
  publish_event("start", id);
  return {};
}

core::Result<void> FakeProxyHost::rename(const std::string& id, const std::string& owner,
                                         const std::string& /*unit*/) {
  const std::lock_guard lock(mutex_);
  if (auto error = enter("rename", id + " " + owner)) return *error;
  const auto found = boxes_.find(id);
  if (found == boxes_.end()) return Error{ErrorKind::NotFound, "rename", id};
  found->second.seen.name = owner;
  return {};
}

core::Result<void> FakeProxyHost::rename_shared(const std::string& id, const std::string& cluster,
                                                unsigned number) {
  const std::lock_guard lock(mutex_);
  const auto name = proxy::shared_name(cluster, number);
  if (auto error = enter("rename", id + " " + name)) return *error;
  const auto found = boxes_.find(id);
  if (found == boxes_.end()) return Error{ErrorKind::NotFound, "rename", id};
  found->second.seen.name = name;
  return {};
}

core::Result<void> FakeProxyHost::remove_orphans() {
  const std::lock_guard lock(mutex_);
  if (auto error = enter("sweep", "volumes")) return *error;
  return {};
}

core::Result<void> FakeProxyHost::remove(const std::string& id) {
  bool was_running = false;
  bool was_there = false;
  std::function<void()> hook;
  {
    const std::lock_guard lock(mutex_);
    if (boxes_.contains(id)) hook = removing_;
  }
  if (hook) hook();
  {
    const std::lock_guard lock(mutex_);
    if (!boxes_.contains(id)) return {};  // nothing happens to the world: no step
    if (auto error = enter("remove", id)) return *error;
    was_running = boxes_.at(id).seen.running;
    was_there = boxes_.erase(id) > 0;
  }
  if (was_running) publish_event("die", id);
  if (was_there) publish_event("destroy", id);
  return {};
}

core::Result<void> FakeProxyHost::connect(const std::string& id) {
  protocol::Hello hello{.agent = "fake"};
  {
    const std::lock_guard lock(mutex_);
    if (auto error = enter("connect", id)) return *error;
    const auto found = boxes_.find(id);
    if (found == boxes_.end()) return Error{ErrorKind::NotFound, "connect", id};
    auto& box = found->second;
    if (!box.seen.running) return Error{ErrorKind::Conflict, "connect", "not running"};
    if (box.seen.paused) return Error{ErrorKind::Conflict, "connect", "paused"};
    box.connected = true;
    box.clogged = false;
    box.stream_hangs = false;
    if (box.frozen) return {};
    hello.heartbeat = heartbeat_;
    hello.network_problem = box.network_problem;
    hello.envoy = box.envoy;
    hello.units = units(box);
    hello.watches = box.watches;
  }
  deliver(id, std::move(hello));
  return {};
}

void FakeProxyHost::disconnect(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = boxes_.find(id); found != boxes_.end()) found->second.connected = false;
}

bool FakeProxyHost::send(const std::string& id, const protocol::Message& message) {
  std::optional<protocol::Message> reply;
  {
    const std::lock_guard lock(mutex_);
    const auto found = boxes_.find(id);
    if (found == boxes_.end() || !found->second.connected || found->second.clogged) return false;
    if (found->second.frozen || found->second.seen.paused) return true;
    if (const auto* prepare = std::get_if<protocol::Prepare>(&message)) {
      if (!journal_.enter("prepare " + id)) return false;
      reply = protocol::Applied{.id = prepare->id};
    }
    if (const auto* apply = std::get_if<protocol::Apply>(&message)) {
      if (!journal_.enter("send " + id + " " + apply->unit.owner)) return false;
      if (!muted_) reply = answer(found->second, *apply);
    }
    if (const auto* release = std::get_if<protocol::Release>(&message)) {
      if (!journal_.enter("release " + id + " " + release->unit)) return false;
      if (!muted_) reply = answer(found->second, *release);
    }
  }
  if (reply && can_speak(id)) deliver(id, std::move(*reply));
  return true;
}

// ---- the agents --------------------------------------------------------------------------------

protocol::Message FakeProxyHost::answer(Box& box, const protocol::Apply& apply) {
  const auto rejected = [&](protocol::RejectStage stage, const std::string& text) {
    return protocol::Rejected{apply.id, apply.unit.unit, apply.unit.revision, stage, text};
  };
  for (const auto& address : apply.unit.addresses)
    if (occupied_.contains(address.address))
      return rejected(protocol::RejectStage::Address, address.address.text() + " is in use");
  if (!refusals_.empty()) {
    const auto refusal = std::move(refusals_.front());
    refusals_.pop_front();
    return rejected(refusal.stage, refusal.text);
  }
  box.routes.insert_or_assign(apply.unit.unit, apply.unit.routes);
  box.units.insert_or_assign(
      apply.unit.unit, protocol::UnitState{apply.unit.unit, apply.unit.owner, apply.unit.revision,
                                           true, apply.unit.addresses, apply.unit.clusters.size()});
  return protocol::Applied{apply.id, apply.unit.unit, apply.unit.revision, run_probes(apply)};
}

protocol::Message FakeProxyHost::answer(Box& box, const protocol::Release& release) {
  box.units.erase(release.unit);
  box.routes.erase(release.unit);
  return protocol::Applied{.id = release.id, .unit = release.unit};
}

/// A path with routes leads to pods; one without, to node ports.
std::vector<protocol::ProbeOutcome> FakeProxyHost::run_probes(const protocol::Apply& apply) const {
  std::vector<protocol::ProbeOutcome> out;
  const bool blocked = direct_blocked_ && !apply.unit.routes.empty();
  for (const auto& probe : apply.probes)
    out.push_back({probe.label,
                   blocked ? protocol::ProbeResult::Unreachable : protocol::ProbeResult::Reached,
                   blocked ? "No route to host" : ""});
  return out;
}

void FakeProxyHost::deliver(const std::string& id, protocol::Message message) {
  const std::lock_guard lock(listener_mutex_);
  if (listener_ != nullptr) listener_->on_agent_message(id, std::move(message));
}

void FakeProxyHost::close_channel(const std::string& id, const std::string& why) {
  const std::lock_guard lock(listener_mutex_);
  if (listener_ != nullptr) listener_->on_channel_closed(id, why);
}

void FakeProxyHost::publish_event(const std::string& action, const std::string& id) {
  const std::lock_guard lock(listener_mutex_);
  if (event_) event_(action, id);
}

}  // namespace kindlb::testing

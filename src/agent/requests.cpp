#include "requests.hpp"

#include "kindlb/core/assert.hpp"
#include "log.hpp"

#include <utility>

namespace kindlb::agent {

using protocol::RejectStage;

Requests::~Requests() {
  for (const auto& [key, request] : requests_) loop_.cancel(request.deadline);
}

// Arrival ----------------------------------------------------------------------------------------

Request& Requests::add(ClientId client, std::uint64_t id, protocol::Unit unit) {
  supersede(unit.unit);
  auto& request = requests_[++last_];
  request.key = last_;
  request.client = client;
  request.id = id;
  request.unit = std::move(unit);
  start_deadline(request);
  return request;
}

const Request& Requests::add(ClientId client, protocol::Apply apply) {
  auto& request = add(client, apply.id, std::move(apply.unit));
  request.probes = std::move(apply.probes);
  request.probe_timeout = apply.probe_timeout;
  return request;
}

const Request& Requests::add(ClientId client, const protocol::Release& release) {
  auto& request = add(client, release.id, {.unit = release.unit});
  request.kind = Request::Kind::Release;
  request.stage = Request::Stage::Queued;
  return request;
}

/// The newest message for a unit wins: what it supersedes is answered at once, before the new
/// request can change anything. One that Envoy is deciding about stays until then, answered: the
/// update refers to it.
void Requests::supersede(const std::string& unit) {
  std::vector<RequestKey> over;
  for (auto& [key, request] : requests_) {
    if (request.unit.unit != unit) continue;
    if (request.kind == Request::Kind::Release)
      answer_applied(key);  // the newer request replaces all of the unit's content
    else
      reject(key, RejectStage::Superseded, "superseded by a newer request for this Service");
    if (request.stage != Request::Stage::Applying) over.push_back(key);
  }
  for (const auto key : over) end(key);
}

void Requests::start_deadline(Request& request) {
  request.deadline = loop_.after(kTimeout, [this, key = request.key] { events_.timed_out(key); });
}

// Lookup -----------------------------------------------------------------------------------------

const Request* Requests::find(RequestKey key) const {
  const auto found = requests_.find(key);
  return found == requests_.end() ? nullptr : &found->second;
}

const Request& Requests::at(RequestKey key) const {
  const auto* found = find(key);
  KINDLB_ASSERT(found != nullptr);
  return *found;
}

std::vector<const Request*> Requests::installed() const {
  std::vector<const Request*> out;
  for (const auto& [key, request] : requests_)
    if (request.kind == Request::Kind::Apply && request.stage != Request::Stage::Checking &&
        request.stage != Request::Stage::Probing)
      out.push_back(&request);
  return out;
}

std::vector<const Request*> Requests::queued() const {
  std::vector<const Request*> out;
  for (const auto& [key, request] : requests_)
    if (request.stage == Request::Stage::Queued) out.push_back(&request);
  return out;
}

// Stages -----------------------------------------------------------------------------------------

void Requests::start_announcing(RequestKey key) {
  requests_.at(key).stage = Request::Stage::Announcing;
}

std::vector<RequestKey> Requests::end_announcing() {
  std::vector<RequestKey> out;
  for (auto& [key, request] : requests_) {
    if (request.stage != Request::Stage::Announcing) continue;
    request.stage = Request::Stage::Queued;
    out.push_back(key);
  }
  return out;
}

void Requests::set_probing(RequestKey key, std::unique_ptr<ProbeSet> probing) {
  requests_.at(key).probing = std::move(probing);
}

void Requests::start_applying(RequestKey key) {
  auto& request = requests_.at(key);
  request.stage = Request::Stage::Applying;
  loop_.cancel(request.deadline);
}

void Requests::withdraw(RequestKey key) {
  requests_.at(key).stage = Request::Stage::Queued;
}

void Requests::await_probes(RequestKey key) {
  requests_.at(key).stage = Request::Stage::Probing;
}

void Requests::probed(RequestKey key, std::vector<protocol::ProbeOutcome> outcomes) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;
  found->second.outcomes = std::move(outcomes);
  if (found->second.stage == Request::Stage::Probing) finish_if_probed(key);
}

void Requests::finish_if_probed(RequestKey key) {
  auto& request = requests_.at(key);
  if (!request.answered && !request.outcomes) return;
  answer_applied(key);
  end(key);
}

void Requests::requeue_alone(RequestKey key) {
  auto& request = requests_.at(key);
  if (request.answered) return end(key);
  request.stage = Request::Stage::Queued;
  request.alone = true;
  start_deadline(request);
}

unsigned Requests::count_crash(RequestKey key) {
  return ++requests_.at(key).crashes;
}

// Answers ----------------------------------------------------------------------------------------

void Requests::reject(RequestKey key, RejectStage stage, const std::string& text) {
  auto& request = requests_.at(key);
  if (std::exchange(request.answered, true)) return;
  events_.answer(request.client, protocol::Rejected{request.id, request.unit.unit,
                                                    request.unit.revision, stage, text});
  if (stage != RejectStage::Superseded) log("cannot serve " + request.unit.owner + ": " + text);
}

void Requests::answer_applied(RequestKey key) {
  auto& request = requests_.at(key);
  if (std::exchange(request.answered, true)) return;
  events_.answer(
      request.client,
      protocol::Applied{request.id, request.unit.unit, request.unit.revision,
                        request.outcomes.value_or(std::vector<protocol::ProbeOutcome>())});
}

void Requests::end(RequestKey key) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;
  loop_.cancel(found->second.deadline);
  if (found->second.stage == Request::Stage::Applying) events_.refused(found->second.unit);
  requests_.erase(found);
}

}  // namespace kindlb::agent

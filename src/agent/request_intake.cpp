#include "request_intake.hpp"

#include <algorithm>

namespace kindlb::agent {

using protocol::RejectStage;

namespace {
constexpr std::chrono::milliseconds kLongestProbe{60'000};
}  // namespace

void RequestIntake::accept(ClientId client, protocol::Apply apply) {
  const auto& request = requests_.add(client, std::move(apply));
  // A copy of the key: the check may end, and with it the request, before it returns.
  checks_.check(request.unit.addresses,
                [this, key = request.key](const AddressChecks::Problem& problem) {
                  address_checked(key, problem);
                });
}

void RequestIntake::accept(ClientId client, const protocol::Release& release) {
  requests_.add(client, release);
  queued_();
}

void RequestIntake::address_checked(RequestKey key, const AddressChecks::Problem& problem) {
  if (requests_.find(key) == nullptr) return;  // superseded meanwhile
  // The namespace is put in order also if nothing was added for this request: one that it
  // superseded may have left addresses or routes.
  if (problem) return fail(key, RejectStage::Address, *problem);
  requests_.start_announcing(key);
  if (const auto refused = network_.add()) return fail(key, refused->stage, refused->text);
  loop_.after({}, [this] { announce(); });
}

void RequestIntake::fail(RequestKey key, RejectStage stage, const std::string& text) {
  requests_.reject(key, stage, text);
  requests_.end(key);
  network_.sync();
}

/// Announce once for all requests that reached this stage in one turn of the loop, and only then
/// start their probes: an announcement empties the kernel's neighbour table, which drops the
/// packets queued for resolution, so it must not come between a probe's SYN and the answer. For the
/// same reason running address checks start over.
void RequestIntake::announce() {
  if (network_.announce()) checks_.restart();
  for (const auto key : requests_.end_announcing()) start_probes(key);
  queued_();
}

/// Probe while Envoy processes the update: the two are independent, and Applied needs both.
void RequestIntake::start_probes(RequestKey key) {
  const auto& request = requests_.at(key);
  requests_.set_probing(key,
                        std::make_unique<ProbeSet>(loop_, request.probes,
                                                   std::min(request.probe_timeout, kLongestProbe),
                                                   [this, key] { probes_changed(key); }));
  probes_changed(key);  // a probe may end at once
}

void RequestIntake::probes_changed(RequestKey key) {
  const auto* request = requests_.find(key);
  if (request == nullptr || !request->probing->is_finished()) return;
  requests_.probed(key, request->probing->outcomes());
}

}  // namespace kindlb::agent

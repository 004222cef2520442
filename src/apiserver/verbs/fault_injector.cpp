#include "verbs/fault_injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kindlb::apiserver {

namespace {
constexpr int kMaxTimes = 1'000'000;
constexpr std::int64_t kMaxDelay = 60'000;
}  // namespace

ApiResult<Fault> FaultInjector::parse(const Json& json) {
  constexpr std::array<const char*, 5> kKinds{"conflict", "too-many", "error", "expired", "slow"};
  Fault fault;
  fault.kind = text_at(json, {"kind"});
  if (std::find(kKinds.begin(), kKinds.end(), fault.kind) == kKinds.end())
    return bad_request(
        fmt::format("unknown fault kind '{}': use conflict, too-many, error, expired, "
                    "slow or drop-watches",
                    fault.kind));
  fault.verb = text_at(json, {"verb"});
  fault.resource = text_at(json, {"resource"});
  if (const auto times = number_at(json, {"times"}); times > 0)
    fault.times = static_cast<int>(std::min<std::int64_t>(times, kMaxTimes));
  if (const auto seconds = number_at(json, {"retryAfter"}); seconds > 0)
    fault.retry_after = static_cast<int>(std::min<std::int64_t>(seconds, 600));
  if (const auto delay = number_at(json, {"delayMilliseconds"}); delay > 0)
    fault.delay = std::chrono::milliseconds(std::min(delay, kMaxDelay));
  return fault;
}

void FaultInjector::add(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void FaultInjector::clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

Json FaultInjector::to_json() const {
  const std::lock_guard lock(mutex_);
  Json out = Json::array();
  for (const auto& fault : faults_)
    out.push_back({{"kind", fault.kind},
                   {"verb", fault.verb},
                   {"resource", fault.resource},
                   {"times", fault.times}});
  return {{"faults", out}};
}

void FaultInjector::drop_watches() {
  const std::lock_guard lock(mutex_);
  ++watch_drops_;
}

std::uint64_t FaultInjector::watch_drops() const {
  const std::lock_guard lock(mutex_);
  return watch_drops_;
}

std::optional<Fault> FaultInjector::next(const std::string& verb, const std::string& resource) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return (fault.verb.empty() || fault.verb == verb) &&
           (fault.resource.empty() || fault.resource == resource);
  });
  if (found == faults_.end()) return std::nullopt;
  auto fault = *found;
  if (--found->times == 0) faults_.erase(found);
  return fault;
}

}  // namespace kindlb::apiserver

#include "fleet/replacements.hpp"

#include "kindlb/core/backoff.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::chrono::milliseconds kPatience{2'000};
/// So many replacements in a row are not held against a Service.
constexpr unsigned kTimesAtOnce = 3;
constexpr core::Backoff kReplaceBackoff{std::chrono::milliseconds(8'000),
                                        std::chrono::milliseconds(120'000)};
/// A proxy that has lasted this long was not the next one in a row.
constexpr std::chrono::seconds kInARow{60};

/// Silence has been waited for already.
std::chrono::milliseconds patience_with(const ProxyFaults& faults, unsigned times) {
  const auto least = faults.silence.empty() ? kPatience : std::chrono::milliseconds(0);
  if (times < kTimesAtOnce) return least;
  return std::max(least, core::delay_before(times - kTimesAtOnce, kReplaceBackoff, 0.5));
}

}  // namespace

Replacements::Replacements(Loop& loop, const ProxyRoster& roster,
                           std::function<void(const std::string& id)> replace)
    : loop_(loop), roster_(roster), replace_(std::move(replace)) {}

void Replacements::on_faults(const std::string& id) {
  const auto& proxy = *roster_.find(id);
  if (!proxy.faults.any()) return forget(id);
  const auto times = times_replaced(proxy);
  const auto patience = patience_with(proxy.faults, times);
  const auto when = loop_.now() + patience;
  const auto known = due_.find(id);
  if (known != due_.end() && known->second.when <= when) return;
  due_.insert_or_assign(id, Deadline{when, times});
  loop_.after(patience, [this, id, when] { on_due(id, when); });
}

/// Return how often its units have lost their proxies in a row; the worst one counts.
unsigned Replacements::times_replaced(const Proxy& proxy) const {
  unsigned out = 0;
  for (const auto& [unit, assigned] : proxy.units)
    if (const auto found = histories_.find(unit);
        found != histories_.end() && loop_.now() - found->second.last < kInARow)
      out = std::max(out, found->second.times);
  return out;
}

void Replacements::on_due(const std::string& id, TimePoint when) {
  const auto due = due_.find(id);
  // It has recovered, or was given less time.
  if (due == due_.end() || due->second.when != when) return;
  const auto times = due->second.times + 1;
  due_.erase(due);
  std::erase_if(histories_, [&](const auto& item) { return when - item.second.last >= kInARow; });
  for (const auto& unit : roster_.units_of(id)) histories_[unit] = {times, when};
  replace_(id);
}

}  // namespace kindlb::controller

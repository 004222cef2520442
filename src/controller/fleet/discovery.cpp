#include "fleet/discovery.hpp"

#include "kindlb/log/log.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::chrono::milliseconds kRetryListing{1'000};

}  // namespace

Discovery::Discovery(Loop& loop, AsyncHost& host, const ProxyRoster& roster, Callbacks callbacks)
    : loop_(loop), host_(host), roster_(roster), callbacks_(std::move(callbacks)) {}

void Discovery::run() {
  if (std::exchange(running_, true)) {
    run_again_ = true;
    return;
  }
  std::set<std::string> before;
  for (const auto& [id, proxy] : roster_.proxies()) before.insert(id);
  host_.list([this, before = std::move(before)](core::Result<std::vector<HostedProxy>> result) {
    on_listed(before, std::move(result));
  });
}

void Discovery::on_listed(std::set<std::string> before,
                          core::Result<std::vector<HostedProxy>> result) {
  if (!result.ok()) {
    log::warn("cannot list the proxies: {}", result.error().text());
    loop_.after(kRetryListing, [this] {
      running_ = false;
      run();
    });
    return;
  }
  running_ = false;
  std::vector<HostedProxy> own;
  for (auto& found : std::move(result).value()) {
    before.erase(found.id);
    if (!found.own_pool && roster_.find(found.id) == nullptr)
      note_foreign(found);
    else
      own.push_back(std::move(found));
  }
  for (const auto& id : before) callbacks_.gone(id);
  for (auto& found : own) callbacks_.found(std::move(found));
  done_ = true;
  callbacks_.finished();
  host_.remove_orphans([](const core::Result<void>& removed) {
    if (!removed.ok())
      log::warn("cannot remove a volume without a proxy: {}", removed.error().text());
  });
  if (std::exchange(run_again_, false)) run();
}

void Discovery::note_foreign(const HostedProxy& found) {
  auto& foreign = foreign_proxies_[found.id];
  foreign = {found.network, {}};
  if (!found.state) return;
  for (const auto& unit : found.state->units)
    for (const auto& address : unit.addresses)
      foreign.addresses.emplace(address.address, unit.unit);
}

std::map<core::IpAddress, std::string> Discovery::foreign_addresses(
    const std::string& network) const {
  std::map<core::IpAddress, std::string> out;
  for (const auto& [id, foreign] : foreign_proxies_)
    if (foreign.network == network) out.insert(foreign.addresses.begin(), foreign.addresses.end());
  return out;
}

}  // namespace kindlb::controller

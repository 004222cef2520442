#include "service/allocators.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::apiserver {

namespace {
/// Far more than any sandbox holds, and a bound on the search.
constexpr std::size_t kMaxAddresses = 1U << 20U;

/// How much of a range is left to those who choose: a share, but neither too little nor too much.
int band(int size, int share, int most) {
  constexpr int kLeast = 16;
  return size <= kLeast ? 0 : std::clamp(size / share, kLeast, most);
}

core::IpAddress above_band(const core::Cidr& range) {
  constexpr int kShare = 16;
  constexpr int kMost = 256;
  constexpr unsigned kEnoughBits = 12;  // kShare * kMost addresses: more makes no difference
  const unsigned host_bits = std::min(range.address.bits() - range.length, kEnoughBits);
  auto address = range.first();
  const int count = band(1 << host_bits, kShare, kMost);
  if (count == 0) return address;
  // The band begins with the first address that can be used at all, which is the second.
  for (int left = count + 1; left > 0; --left) address = *address.next();
  return address;
}
}  // namespace

IpPool::IpPool(core::Cidr range)
    : range_(range), above_band_(above_band(range)), next_(above_band_) {}

/// As with the real allocator: not the network's own address, and of IPv4 not the highest one.
bool IpPool::usable(const core::IpAddress& address) const {
  const bool broadcast = address.family() == core::IpFamily::V4 && address == range_.last();
  return range_.contains(address) && address != range_.first() && !broadcast;
}

Complaint IpPool::take(const core::IpAddress& address) {
  if (!usable(address))
    return fmt::format(
        "the provided IP ({}) is not in the valid range. The range of valid IPs is {}",
        address.text(), range_.text());
  return used_.insert(address).second ? "" : "provided IP is already allocated";
}

std::optional<core::IpAddress> IpPool::take_any() {
  auto address = take_from(above_band_);
  return address ? address : take_from(range_.first());
}

/// The next free one at `lowest` or above, round about.
std::optional<core::IpAddress> IpPool::take_from(const core::IpAddress& lowest) {
  next_ = std::max(next_, lowest);
  for (std::size_t tried = 0; tried <= used_.size() + 2 && tried < kMaxAddresses; ++tried) {
    const auto candidate = next_;
    const auto following = next_.next();
    next_ = following && range_.contains(*following) ? *following : lowest;
    if (usable(candidate) && used_.insert(candidate).second) return candidate;
  }
  return std::nullopt;
}

PortPool::PortPool(int first, int last) : first_(first), last_(last), above_band_(first) {
  constexpr int kShare = 32;
  constexpr int kMost = 128;
  above_band_ += band(last - first + 1, kShare, kMost);
}

Complaint PortPool::take(int port) {
  if (port < first_ || port > last_)
    return fmt::format("provided port is not in the valid range. The range of valid ports is {}-{}",
                       first_, last_);
  return used_.insert(port).second ? "" : "provided port is already allocated";
}

std::optional<int> PortPool::take_any() {
  const auto port = take_between(above_band_, last_);
  return port ? port : take_between(first_, above_band_ - 1);
}

std::optional<int> PortPool::take_between(int lowest, int highest) {
  // Scattered, so that nobody comes to rely on the order. It meets every port of a part whose size
  // is no multiple of it.
  constexpr int kStride = 787;
  const int size = highest - lowest + 1;
  for (int tried = 0; tried < size; ++tried) {
    next_ = (next_ + kStride) % size;
    if (used_.insert(lowest + next_).second) return lowest + next_;
  }
  return std::nullopt;
}

IpPool* Pools::of(core::IpFamily family) {
  for (auto& pool : ips)
    if (pool.range().address.family() == family) return &pool;
  return nullptr;
}

Reservation::~Reservation() {
  for (const int port : taken_ports_) pools_.ports.release(port);
  for (const auto& address : taken_ips_) free_ip(address);
}

void Reservation::free_ip(const core::IpAddress& address) {
  if (auto* pool = pools_.of(address.family())) pool->release(address);
}

Complaint Reservation::take_port(int port) {
  auto complaint = pools_.ports.take(port);
  if (complaint.empty()) taken_ports_.push_back(port);
  return complaint;
}

std::optional<int> Reservation::take_any_port() {
  const auto port = pools_.ports.take_any();
  if (port) taken_ports_.push_back(*port);
  return port;
}

Complaint Reservation::take_ip(const core::IpAddress& address) {
  auto* pool = pools_.of(address.family());
  if (pool == nullptr) return "not configured on this cluster";
  auto complaint = pool->take(address);
  if (complaint.empty()) taken_ips_.push_back(address);
  return complaint;
}

std::optional<core::IpAddress> Reservation::take_any_ip(core::IpFamily family) {
  auto* pool = pools_.of(family);
  if (pool == nullptr) return std::nullopt;
  const auto address = pool->take_any();
  if (address) taken_ips_.push_back(*address);
  return address;
}

void Reservation::commit() {
  taken_ports_.clear();
  taken_ips_.clear();
  for (const int port : released_ports_) pools_.ports.release(port);
  for (const auto& address : released_ips_) free_ip(address);
  released_ports_.clear();
  released_ips_.clear();
}

}  // namespace kindlb::apiserver

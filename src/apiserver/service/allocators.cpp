#include "service/allocators.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::apiserver {

namespace {
/// Bounds the search. Far more addresses than a sandbox has Services.
constexpr std::size_t kMaxAddresses = 1U << 20U;

/// min(max(16, size/share), most), as the KEPs define it; zero for a range too small to divide.
int static_band_size(int size, int share, int most) {
  constexpr int kLeast = 16;
  return size <= kLeast ? 0 : std::clamp(size / share, kLeast, most);
}

core::IpAddress first_dynamic_ip(const core::Cidr& range) {
  constexpr int kShare = 16;
  constexpr int kMost = 256;
  constexpr unsigned kEnoughBits = 12;  // kShare * kMost addresses: more makes no difference
  const unsigned host_bits = std::min(range.address.bits() - range.length, kEnoughBits);
  auto address = range.first();
  const int count = static_band_size(1 << host_bits, kShare, kMost);
  if (count == 0) return address;
  // The band begins at the second address: the first is the network's own and never allocated.
  for (int left = count + 1; left > 0; --left) address = *address.next();
  return address;
}
}  // namespace

IpAllocator::IpAllocator(core::Cidr range)
    : range_(range), dynamic_first_(first_dynamic_ip(range)), next_(dynamic_first_) {}

/// As ipallocator: not the network address, and in IPv4 not the broadcast address.
bool IpAllocator::usable(const core::IpAddress& address) const {
  const bool broadcast = address.family() == core::IpFamily::V4 && address == range_.last();
  return range_.contains(address) && address != range_.first() && !broadcast;
}

AllocationError IpAllocator::allocate(const core::IpAddress& address) {
  if (!usable(address))
    return fmt::format(
        "the provided IP ({}) is not in the valid range. The range of valid IPs is {}",
        address.text(), range_.text());
  return allocated_.insert(address).second ? "" : "provided IP is already allocated";
}

std::optional<core::IpAddress> IpAllocator::allocate_next() {
  auto address = allocate_from(dynamic_first_);
  return address ? address : allocate_from(range_.first());
}

/// Allocate the next free address at or above `lowest`, beginning at next_ and wrapping around.
std::optional<core::IpAddress> IpAllocator::allocate_from(const core::IpAddress& lowest) {
  next_ = std::max(next_, lowest);
  for (std::size_t tried = 0; tried <= allocated_.size() + 2 && tried < kMaxAddresses; ++tried) {
    const auto candidate = next_;
    const auto following = next_.next();
    next_ = following && range_.contains(*following) ? *following : lowest;
    if (usable(candidate) && allocated_.insert(candidate).second) return candidate;
  }
  return std::nullopt;
}

PortAllocator::PortAllocator(int first, int last)
    : first_(first), last_(last), dynamic_first_(first) {
  constexpr int kShare = 32;
  constexpr int kMost = 128;
  dynamic_first_ += static_band_size(last - first + 1, kShare, kMost);
}

AllocationError PortAllocator::allocate(int port) {
  if (port < first_ || port > last_)
    return fmt::format("provided port is not in the valid range. The range of valid ports is {}-{}",
                       first_, last_);
  return allocated_.insert(port).second ? "" : "provided port is already allocated";
}

std::optional<int> PortAllocator::allocate_next() {
  const auto port = allocate_between(dynamic_first_, last_);
  return port ? port : allocate_between(first_, dynamic_first_ - 1);
}

std::optional<int> PortAllocator::allocate_between(int lowest, int highest) {
  // Scattered, as kube-apiserver's random allocation is, so that clients cannot rely on an order.
  // The stride is prime, so it visits every port of a range whose size is not a multiple of it.
  constexpr int kStride = 787;
  const int size = highest - lowest + 1;
  for (int tried = 0; tried < size; ++tried) {
    next_ = (next_ + kStride) % size;
    if (allocated_.insert(lowest + next_).second) return lowest + next_;
  }
  return std::nullopt;
}

IpAllocator* Allocators::of(core::IpFamily family) {
  for (auto& allocator : ips)
    if (allocator.range().address.family() == family) return &allocator;
  return nullptr;
}

AllocationTransaction::~AllocationTransaction() {
  for (const int port : allocated_ports_) allocators_.ports.release(port);
  for (const auto& address : allocated_ips_) release_now(address);
}

void AllocationTransaction::release_now(const core::IpAddress& address) {
  if (auto* allocator = allocators_.of(address.family())) allocator->release(address);
}

AllocationError AllocationTransaction::allocate_port(int port) {
  auto error = allocators_.ports.allocate(port);
  if (error.empty()) allocated_ports_.push_back(port);
  return error;
}

std::optional<int> AllocationTransaction::allocate_next_port() {
  const auto port = allocators_.ports.allocate_next();
  if (port) allocated_ports_.push_back(*port);
  return port;
}

AllocationError AllocationTransaction::allocate_ip(const core::IpAddress& address) {
  auto* allocator = allocators_.of(address.family());
  if (allocator == nullptr) return "not configured on this cluster";
  auto error = allocator->allocate(address);
  if (error.empty()) allocated_ips_.push_back(address);
  return error;
}

std::optional<core::IpAddress> AllocationTransaction::allocate_next_ip(core::IpFamily family) {
  auto* allocator = allocators_.of(family);
  if (allocator == nullptr) return std::nullopt;
  const auto address = allocator->allocate_next();
  if (address) allocated_ips_.push_back(*address);
  return address;
}

void AllocationTransaction::commit() {
  allocated_ports_.clear();
  allocated_ips_.clear();
  for (const int port : released_ports_) allocators_.ports.release(port);
  for (const auto& address : released_ips_) release_now(address);
  released_ports_.clear();
  released_ips_.clear();
}

}  // namespace kindlb::apiserver

// Where cluster IPs and node ports come from: numbers that users choose, and numbers given out.

#include "service/allocators.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace kindlb;
using namespace kindlb::apiserver;

namespace {
IpAllocator ips(const char* range) {
  return IpAllocator(*core::Cidr::parse(range));
}
core::IpAddress ip(const char* text) {
  return *core::IpAddress::parse(text);
}
}  // namespace

TEST_CASE("node ports are allocated above the static band first") {
  PortAllocator allocator(30000, 32767);
  constexpr int kBand = 86;
  std::set<int> given;
  for (int i = kBand; i < 2768; ++i) given.insert(allocator.allocate_next().value_or(0));
  CHECK(*given.begin() == 30000 + kBand);
  CHECK(*given.rbegin() == 32767);
  CHECK(given.size() == 2768 - kBand);

  SUBCASE("then from the static band") {
    for (int i = 0; i < kBand; ++i) given.insert(allocator.allocate_next().value_or(0));
    CHECK(*given.begin() == 30000);
    CHECK(given.size() == 2768);
    CHECK_FALSE(allocator.allocate_next());
  }
  SUBCASE("a released one is allocated first") {
    CHECK(allocator.allocate_next().value_or(0) < 30000 + kBand);
    allocator.release(31000);
    CHECK(allocator.allocate_next() == 31000);
  }
  SUBCASE("requested ones are skipped") {
    CHECK(allocator.allocate(30007).empty());
    CHECK(allocator.allocate(30007) == "provided port is already allocated");
    for (int i = 1; i < kBand; ++i) CHECK(allocator.allocate_next() != 30007);
    CHECK_FALSE(allocator.allocate_next());
  }
}

TEST_CASE("a small range of ports is allocated completely") {
  PortAllocator without_band(100, 115);
  for (int i = 0; i < 16; ++i) CHECK(without_band.allocate_next());
  CHECK_FALSE(without_band.allocate_next());
  PortAllocator nearly_all_band(100, 116);
  CHECK(nearly_all_band.allocate_next() == 116);
  for (int i = 0; i < 16; ++i) CHECK(nearly_all_band.allocate_next());
  CHECK_FALSE(nearly_all_band.allocate_next());
}

TEST_CASE("cluster IPs are allocated above the static band first") {
  struct Case {
    const char* range;
    const char* first;
  };
  for (const auto& [range, first] :
       {Case{"10.96.0.0/16", "10.96.1.1"}, Case{"10.96.0.0/24", "10.96.0.17"},
        Case{"10.96.0.0/21", "10.96.0.129"}, Case{"10.96.0.0/28", "10.96.0.1"},
        Case{"fd00:10:96::/112", "fd00:10:96::101"}, Case{"fd00::/64", "fd00::101"}}) {
    CAPTURE(range);
    CHECK(ips(range).allocate_next() == ip(first));
  }
}

TEST_CASE("only IPv4 reserves the highest address") {
  CHECK_FALSE(ips("10.96.0.0/16").allocate(ip("10.96.255.255")).empty());
  CHECK(ips("fd00::/124").allocate(ip("fd00::f")).empty());
}

TEST_CASE("a range of cluster IPs is allocated completely") {
  auto allocator = ips("10.96.0.0/27");
  std::set<core::IpAddress> given;
  for (int i = 0; i < 14; ++i) given.insert(allocator.allocate_next().value_or(ip("0.0.0.0")));
  CHECK(*given.begin() == ip("10.96.0.17"));
  CHECK(*given.rbegin() == ip("10.96.0.30"));
  CHECK(allocator.allocate_next() == ip("10.96.0.1"));

  SUBCASE("a released one is allocated first") {
    allocator.release(ip("10.96.0.20"));
    CHECK(allocator.allocate_next() == ip("10.96.0.20"));
    CHECK(allocator.allocate_next() == ip("10.96.0.2"));
  }
  SUBCASE("until the range is full") {
    for (int i = 15; i < 30; ++i) CHECK(allocator.allocate_next());
    CHECK_FALSE(allocator.allocate_next());
    CHECK(allocator.allocated() == 30);
  }
}

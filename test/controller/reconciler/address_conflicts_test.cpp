#include "reconciler/address_conflicts.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::test;
using controller::AddressConflicts;
using Addresses = std::set<core::IpAddress>;

TEST_CASE("an address that another host answered for is left alone for a while") {
  const controller::Loop::TimePoint begin{};
  const auto first = ip("172.18.0.254");
  const auto second = ip("172.18.0.253");
  AddressConflicts conflicts;
  conflicts.note({first}, begin);
  conflicts.note({second}, begin + std::chrono::seconds(30));
  CHECK(conflicts.at(begin + std::chrono::seconds(59)) == Addresses{first, second});
  CHECK(conflicts.at(begin + AddressConflicts::kMemory) == Addresses{second});
  SUBCASE("noted again, it begins anew") {
    conflicts.note({first}, begin + std::chrono::seconds(50));
    CHECK(conflicts.at(begin + std::chrono::seconds(100)) == Addresses{first});
  }
  SUBCASE("cleared") {
    conflicts.clear();
    CHECK(conflicts.at(begin).empty());
  }
}

#include "network/connections.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using namespace kindlb;

const std::string kTitles =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n";

std::set<std::string> peers(const std::string& lines) {
  std::set<std::string> out;
  for (const auto& address : agent::parse_connections(kTitles + lines)) out.insert(address.text());
  return out;
}

using Texts = std::set<std::string>;

}  // namespace

TEST_CASE("remote addresses are read from the kernel's list") {
  CHECK(peers("   0: 0200F40A:0050 0302F40A:1F90 01 00000000:00000000 00:00000000 0 0\n") ==
        Texts{"10.244.2.3"});
  CHECK(peers("   0: 00000000000000000000000001000000:0050 "
              "000000FD000000000000000003000000:1F90 01 00000000:00000000\n") == Texts{"fd00::3"});
  CHECK(peers("   0: 00000000000000000000000001000000:0050 "
              "0000000000000000FFFF00000302F40A:1F90 01 00000000:00000000\n") ==
        Texts{"10.244.2.3"});
}

TEST_CASE("a half-closed connection still needs its route, a closed one does not") {
  const auto with_state = [](const std::string& state) {
    return peers("   0: 0200F40A:0050 0302F40A:1F90 " + state + " 00000000:00000000\n").size();
  };
  for (const auto* state : {"01", "02", "04", "05", "08", "09", "0B"})
    CHECK(with_state(state) == 1);
  for (const auto* state : {"06", "07", "0A"}) CHECK(with_state(state) == 0);
}

TEST_CASE("malformed lines are skipped") {
  for (const auto* line : {"", "\n", "0:", "0: a b", "0: 0200F40A:0050 0302F4:1F90 01\n",
                           "0: 0200F40A:0050 0302F40Z:1F90 01\n"}) {
    CAPTURE(line);
    CHECK(peers(line).empty());
  }
  CHECK(agent::parse_connections("").empty());
}

#include "integration/clients.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace kindlb::it {

namespace {

/// Beyond what the engine gives out, below what kindlb does.
constexpr unsigned kFirst = 512;

/// All in one process: a hundred calls would take a second.
int ip_batch(const std::string& lines) {
  FILE* pipe = ::popen("ip -batch - 2>/dev/null", "w");
  if (pipe == nullptr) return -1;
  std::fwrite(lines.data(), 1, lines.size(), pipe);
  return ::pclose(pipe);
}

std::string lines(const char* action, const std::vector<core::IpAddress>& addresses,
                  const std::string& device) {
  std::string out;
  for (const auto& address : addresses)
    out += fmt::format("address {} {} dev {}{}\n", action, core::Cidr::host(address).text(), device,
                       address.family() == core::IpFamily::V6 ? " nodad" : "");
  return out;
}

}  // namespace

Clients::Clients(Stage& stage, unsigned count)
    : bridge_(stage.bridge()),
      stage_(stage),
      v4_(reserve(core::IpFamily::V4, count)),
      v6_(reserve(core::IpFamily::V6, count)) {
  add();
}

Clients::Clients(Stage& stage, const core::IpAddress& address)
    : bridge_(stage.bridge()), stage_(stage), v4_({address}) {
  add();
}

void Clients::add() {
  const auto added = ip_batch(lines("add", v4_, bridge_) + lines("add", v6_, bridge_));
  REQUIRE_MESSAGE(added == 0, "addresses can be added to a bridge by root only");
}

Clients::~Clients() {
  ip_batch(lines("del", v4_, bridge_));
  std::string v6;
  for (const auto& address : v6_)
    v6 += fmt::format("address del {} dev {}\n", core::Cidr::host(address).text(), bridge_);
  ip_batch(v6);
}

std::vector<core::IpAddress> Clients::reserve(core::IpFamily family, unsigned count) {
  std::vector<core::IpAddress> out;
  auto address = stage_.subnet(family).cidr.first();
  for (unsigned i = 0; i < kFirst + count; ++i) {
    if (i >= kFirst) out.push_back(address);
    address = *address.next();
  }
  return out;
}

}  // namespace kindlb::it

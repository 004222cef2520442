// kindlb.dev/proxy-protocol: the backend learns who the client is.
#include "integration/clients.hpp"
#include "integration/served.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>

namespace {

using namespace kindlb;
using core::IpFamily;
using it::Served;
using it::shared_stage;
using namespace std::chrono_literals;

constexpr const char* kAnnotation = "kindlb.dev/proxy-protocol";
const std::string kV2Signature("\r\n\r\n\0\r\nQUIT\n", 12);

/// Sends one byte and gives what the backend saw of the connection: its answer is its name, a blank
/// and everything it received.
std::string seen_by_backend(const testing::Socket& socket) {
  if (::send(socket.fd(), "!", 1, MSG_NOSIGNAL) != 1) return "cannot send";
  std::string out;
  std::array<char, 512> buffer;
  while (!out.ends_with("!")) {
    const auto got = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return "closed";
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return out;
}

std::string big_endian(std::uint16_t number) {
  return {static_cast<char>(number >> 8U), static_cast<char>(number & 0xffU)};
}

std::string raw(const core::IpAddress& address) {
  std::string out;
  for (std::size_t i = 0; i < address.bits() / 8; ++i)
    out += static_cast<char>(address.bytes().at(i));
  return out;
}

/// The header the backend must see for this connection (the PROXY protocol, sections 2.1 and 2.2).
std::string v1_header(const core::Target& client, const core::Target& service) {
  return fmt::format("PROXY {} {} {} {} {}\r\n",
                     client.address.family() == IpFamily::V4 ? "TCP4" : "TCP6",
                     client.address.text(), service.address.text(), client.port, service.port);
}

std::string v2_header(const core::Target& client, const core::Target& service) {
  const bool v4 = client.address.family() == IpFamily::V4;
  const auto body = raw(client.address) + raw(service.address) + big_endian(client.port) +
                    big_endian(service.port);
  return kV2Signature + "\x21" + (v4 ? "\x11" : "\x21") +
         big_endian(static_cast<std::uint16_t>(body.size())) + body;
}

/// The header comes in a read of its own or with the first byte: the backend's name is before each.
std::string without(std::string text, const std::string& name) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name))
    text.erase(at, name.size());
  return text;
}

}  // namespace

TEST_CASE("backends learn the client's address and port") {
  Served served(shared_stage());
  const it::Clients clients(shared_stage(), 1);
  served.add("backend-4", IpFamily::V4);
  served.add("backend-6", IpFamily::V6);
  std::string version;
  auto header = v1_header;
  SUBCASE("version 1") {
    version = "v1";
  }
  SUBCASE("version 2") {
    version = "v2";
    header = v2_header;
  }
  served.create(it::mixed_spec(it::kDualStack), {{kAnnotation, version}});
  for (const auto family : {IpFamily::V4, IpFamily::V6}) {
    CAPTURE(core::name_of(family));
    const bool v4 = family == IpFamily::V4;
    const auto target = served.target(80, family);
    const auto socket = testing::dial(SOCK_STREAM, target, 5s, v4 ? clients.v4(0) : clients.v6(0));
    REQUIRE(socket);
    const auto seen = without(seen_by_backend(socket), v4 ? "backend-4 " : "backend-6 ");
    CHECK(seen == header(testing::local_name(socket), target) + "!");
  }
}

TEST_CASE("the PROXY protocol is switched on under open connections") {
  Served served(shared_stage());
  served.add("one");
  served.create(it::mixed_spec());
  const auto lasting = testing::dial(SOCK_STREAM, served.target(), 5s);
  REQUIRE(lasting);
  CHECK(seen_by_backend(lasting) == "one !");
  served.patch(fmt::format(R"({{"metadata":{{"annotations":{{"{}":"v1"}}}}}})", kAnnotation));
  CHECK(seen_by_backend(lasting) == "one !");
  const auto later = testing::dial(SOCK_STREAM, served.target(), 5s);
  REQUIRE(later);
  CHECK(seen_by_backend(later).starts_with("one PROXY TCP4 "));
}

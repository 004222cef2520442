#include "network/netlink.hpp"

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

core::Cidr cidr(const char* text) {
  return core::Cidr::parse(text).value();
}
core::IpAddress ip(const char* text) {
  return core::IpAddress::parse(text).value();
}

nlmsghdr header_of(const std::string& message) {
  nlmsghdr out{};
  REQUIRE(message.size() >= sizeof(out));
  std::memcpy(&out, message.data(), sizeof(out));
  return out;
}

/// The request as if the kernel reported it: same layout, another type.
std::string reported(std::string message, std::uint16_t type) {
  std::memcpy(message.data() + offsetof(nlmsghdr, nlmsg_type), &type, sizeof(type));
  return message;
}

std::string ack_message(int error) {
  nlmsghdr head{};
  head.nlmsg_type = NLMSG_ERROR;
  head.nlmsg_len = sizeof(head) + sizeof(nlmsgerr);
  nlmsgerr body{};
  body.error = -error;
  std::string out(reinterpret_cast<const char*>(&head), sizeof(head));
  return out.append(reinterpret_cast<const char*>(&body), sizeof(body));
}

std::string neighbour_message(const char* address, std::uint16_t state, bool with_mac) {
  std::string out = netlink::remove_neighbour(7, ip(address));
  if (with_mac) {
    const rtattr attribute{sizeof(rtattr) + 6, NDA_LLADDR};
    out.append(reinterpret_cast<const char*>(&attribute), sizeof(attribute));
    out.append("\x02\x42\xac\x12\x00\x0f\0\0", 8);
  }
  const auto size = static_cast<std::uint32_t>(out.size());
  std::memcpy(out.data(), &size, sizeof(size));
  std::memcpy(out.data() + sizeof(nlmsghdr) + offsetof(ndmsg, ndm_state), &state, sizeof(state));
  return reported(out, RTM_NEWNEIGH);
}

}  // namespace

TEST_CASE("requests carry their own length and ask for an ACK") {
  const core::Route route{cidr("10.244.1.2/32"), ip("172.18.0.3")};
  for (const auto& message :
       {netlink::add_address(2, cidr("172.18.255.254/16")),
        netlink::add_address(2, cidr("fc00::fe/64")),
        netlink::remove_address(2, cidr("172.18.255.254/16")), netlink::add_route(route, false),
        netlink::add_route(route, true), netlink::remove_route(route), netlink::enable_notify(2),
        netlink::set_link_address(2, "abcdef"), netlink::remove_neighbour(2, ip("fc00::1"))}) {
    const auto head = header_of(message);
    CHECK(head.nlmsg_len == message.size());
    CHECK(message.size() % 4 == 0);
    CHECK((head.nlmsg_flags & NLM_F_REQUEST) != 0);
    CHECK((head.nlmsg_flags & NLM_F_ACK) != 0);
  }
}

TEST_CASE("only the agent's own route is replaced") {
  const core::Route route{cidr("10.244.1.2/32"), ip("172.18.0.3")};
  CHECK((header_of(netlink::add_route(route, false)).nlmsg_flags & NLM_F_EXCL) != 0);
  CHECK((header_of(netlink::add_route(route, false)).nlmsg_flags & NLM_F_REPLACE) == 0);
  CHECK((header_of(netlink::add_route(route, true)).nlmsg_flags & NLM_F_EXCL) == 0);
  CHECK((header_of(netlink::add_route(route, true)).nlmsg_flags & NLM_F_REPLACE) != 0);
}

TEST_CASE("what is written as an address reads as that address") {
  for (const char* text : {"172.18.255.254/16", "fc00:f853::fe/64", "10.0.0.1/32"}) {
    CAPTURE(text);
    const auto message = netlink::add_address(42, cidr(text));
    const auto read = netlink::parse_addresses(message);  // RTM_NEWADDR both ways
    CHECK(read == std::vector{netlink::InterfaceAddress{42, cidr(text)}});
  }
}

TEST_CASE("links are read with their addresses") {
  const auto message = reported(
      netlink::set_link_address(3, std::string("\x02\x42\xac\x12\x00\x02", 6)), RTM_NEWLINK);
  const auto read = netlink::parse_links(message + message);
  REQUIRE(read.size() == 2);
  CHECK(read[0].interface == 3);
  CHECK(read[0].mac_bytes.size() == 6);
  CHECK_FALSE(read[0].loopback);
}

TEST_CASE("the agent's own routes are read, in both families") {
  const core::Route v4{cidr("10.244.1.0/24"), ip("172.18.0.2")};
  const core::Route v6{cidr("fd00::7/128"), ip("fc00::2")};
  const auto added = netlink::add_route(v4, false) + netlink::add_route(v6, false);
  CHECK(netlink::parse_routes(added) == std::vector{v4, v6});
  auto foreign = netlink::add_route(v4, false);
  foreign[sizeof(nlmsghdr) + offsetof(rtmsg, rtm_protocol)] = RTPROT_BOOT;
  CHECK(netlink::parse_routes(foreign).empty());
}

TEST_CASE("a notification counts if something may have gone or come back, unless it is our own") {
  const auto notification = [](std::uint16_t type, std::uint16_t flags = 0) {
    auto message = reported(netlink::add_address(1, cidr("10.0.0.1/8")), type);
    nlmsghdr head{};
    std::memcpy(&head, message.data(), sizeof(head));
    head.nlmsg_flags = flags;
    head.nlmsg_pid = 77;
    std::memcpy(message.data(), &head, sizeof(head));
    return message;
  };
  for (const int type : {RTM_DELADDR, RTM_NEWADDR, RTM_DELROUTE, RTM_NEWLINK, RTM_DELLINK}) {
    CAPTURE(type);
    CHECK(netlink::is_notable(notification(static_cast<std::uint16_t>(type)), 1));
    CHECK_FALSE(netlink::is_notable(notification(static_cast<std::uint16_t>(type)), 77));
  }
  CHECK_FALSE(netlink::is_notable(notification(RTM_NEWROUTE), 1));
  CHECK(netlink::is_notable(notification(RTM_NEWROUTE, NLM_F_REPLACE), 1));
  CHECK_FALSE(netlink::is_notable("", 1));
  CHECK(netlink::is_notable(notification(RTM_NEWROUTE) + notification(RTM_DELADDR), 1));
  CHECK(netlink::is_interrupted(notification(RTM_NEWADDR, NLM_F_DUMP_INTR)));
  CHECK_FALSE(netlink::is_interrupted(notification(RTM_NEWADDR)));
}

TEST_CASE("a neighbour is present when it answered") {
  struct Case {
    const char* name;
    std::uint16_t state;
    bool with_mac;
    bool present;
  };
  const Case cases[] = {
      {"reachable", NUD_REACHABLE, true, true},
      {"stale", NUD_STALE, true, true},
      {"delay", NUD_DELAY, true, true},
      {"probe", NUD_PROBE, true, true},
      {"incomplete", NUD_INCOMPLETE, false, false},
      {"failed", NUD_FAILED, true, false},
      {"no address", NUD_REACHABLE, false, false},
      {"none", NUD_NONE, true, false},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto read =
          netlink::parse_neighbours(neighbour_message("172.18.0.9", c.state, c.with_mac));
      REQUIRE(read.size() == 1);
      CHECK(read[0].interface == 7);
      CHECK(read[0].address == ip("172.18.0.9"));
      CHECK(read[0].is_present() == c.present);
      if (c.with_mac) CHECK(read[0].mac == "02:42:ac:12:00:0f");
    }
  }
}

TEST_CASE("ACKs and errors") {
  CHECK(netlink::parse_ack(ack_message(0)) == 0);
  CHECK(netlink::parse_ack(ack_message(EEXIST)) == EEXIST);
  CHECK_FALSE(netlink::parse_ack("").has_value());
  CHECK_FALSE(netlink::parse_ack(netlink::add_address(1, cidr("10.0.0.1/8"))).has_value());
}

TEST_CASE("truncated replies are parsed up to the cut") {
  const auto whole = netlink::add_address(1, cidr("10.0.0.1/8")) +
                     reported(netlink::set_link_address(3, "abcdef"), RTM_NEWLINK) +
                     neighbour_message("fc00::9", NUD_STALE, true) + ack_message(EPERM);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = std::string(whole, 0, size);  // exact size: a sanitizer sees every overrun
    CHECK(netlink::parse_addresses(part).size() <= 1);
    CHECK(netlink::parse_links(part).size() <= 1);
    CHECK(netlink::parse_neighbours(part).size() <= 1);
    CHECK_FALSE(netlink::parse_ack(part).value_or(0) > EPERM);
  }
}

TEST_CASE("wrong lengths do no harm") {
  auto message = netlink::add_address(1, cidr("10.0.0.1/8"));
  const std::size_t first_attribute = sizeof(nlmsghdr) + sizeof(ifaddrmsg);
  for (const int lie : {0, 1, 3, 0xFFFF}) {
    const auto length = static_cast<std::uint16_t>(lie);
    std::memcpy(message.data() + first_attribute, &length, sizeof(length));
    CHECK(netlink::parse_addresses(message).empty());
  }
}

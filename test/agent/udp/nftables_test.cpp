#include "udp/nftables.hpp"

#include "network/netlink_message.hpp"
#include "support/builders.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace kindlb;
using namespace kindlb::test;
using agent::nftables::replace_rules;
using core::IpFamily;

std::vector<nlmsghdr> headers_of(const std::string& batch) {
  std::vector<nlmsghdr> out;
  for (std::size_t at = 0; at < batch.size();) {
    nlmsghdr head{};
    REQUIRE(at + sizeof(head) <= batch.size());
    std::memcpy(&head, batch.data() + at, sizeof(head));
    REQUIRE(head.nlmsg_len >= sizeof(head));
    REQUIRE(head.nlmsg_len % 4 == 0);
    out.push_back(head);
    at += head.nlmsg_len;
  }
  return out;
}

std::size_t count(const std::string& batch, unsigned message) {
  std::size_t out = 0;
  for (const auto& head : headers_of(batch))
    if (head.nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | message)) ++out;
  return out;
}

core::UdpRule rule(const std::string& address) {
  core::UdpRule out;
  out.at = target(address, 53);
  return out;
}

}  // namespace

TEST_CASE("a batch begins, ends, and has one message acknowledged: the last") {
  auto guarded = rule("10.0.0.1");
  guarded.restricted = true;
  for (const auto& batch :
       {replace_rules(IpFamily::V4, {}), replace_rules(IpFamily::V4, {{guarded}, {}})}) {
    const auto heads = headers_of(batch);
    REQUIRE(heads.size() >= 4);
    CHECK(heads.front().nlmsg_type == NFNL_MSG_BATCH_BEGIN);
    CHECK(heads.back().nlmsg_type == NFNL_MSG_BATCH_END);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      CHECK(heads[i].nlmsg_seq == i + 1);
      CHECK(((heads[i].nlmsg_flags & NLM_F_ACK) != 0) == (i + 2 == heads.size()));
    }
  }
}

TEST_CASE("old rules are deleted first; without rules there is no table") {
  const auto empty = replace_rules(IpFamily::V4, {});
  CHECK(count(empty, NFT_MSG_DELTABLE) == 1);
  CHECK(count(empty, NFT_MSG_NEWCHAIN) == 0);
  const auto of_other = replace_rules(IpFamily::V4, {{rule("fc00::1")}, {rule("fc00::2")}});
  CHECK(of_other == empty);
}

TEST_CASE("nf_tables rules per UDP rule") {
  struct Case {
    const char* name;
    bool restricted;
    std::vector<std::string> allowed;
    std::uint16_t divert;
    std::size_t rules;
  };
  const Case cases[] = {
      {"no range", true, {}, 0, 2},
      {"two ranges", true, {"10.0.0.0/8", "192.0.2.0/24"}, 0, 4},
      {"ranges of the other family do not count", true, {"10.0.0.0/8", "fc00::/7"}, 0, 3},
      {"redirected", false, {}, 32821, 6},
      {"redirected and restricted", true, {"10.0.0.0/8"}, 32821, 7},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    auto wanted = rule("10.0.0.1");
    wanted.restricted = c.restricted;
    wanted.divert = c.divert;
    for (const auto& range : c.allowed) wanted.allowed.push_back(cidr(range));
    CHECK(count(replace_rules(IpFamily::V4, {{wanted}, {}}), NFT_MSG_NEWRULE) == c.rules);
  }
  auto idle = rule("10.0.0.1");
  idle.divert = 32821;
  CHECK(count(replace_rules(IpFamily::V4, {{}, {idle}}), NFT_MSG_NEWRULE) == 2);
}

TEST_CASE("the generation of rules is asked for and read") {
  CHECK(count(agent::nftables::ask_generation(), NFT_MSG_GETGEN) == 1);
  const nfgenmsg header{AF_UNSPEC, NFNETLINK_V0, 0};
  const std::string_view number("\x00\x00\x01\x02", 4);
  const auto reply = agent::netlink::Request(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWGEN, 0, header)
                         .attribute(NFTA_GEN_ID, number);
  auto copy = reply;
  const auto bytes = std::move(copy).bytes();
  CHECK(agent::nftables::parse_generation(bytes) == 0x102);
  CHECK(agent::nftables::parse_generation(bytes.substr(0, bytes.size() - 1)) == std::nullopt);
  CHECK(agent::nftables::parse_generation("") == std::nullopt);
}

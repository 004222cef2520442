#include "udp/nftables.hpp"

#include "network/netlink_message.hpp"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <algorithm>

namespace kindlb::agent::nftables {
namespace {

using core::IpFamily;
using core::UdpRule;
using netlink::nested;
using netlink::raw;
using netlink::Request;

constexpr const char* kTable = "kindlb";
constexpr const char* kInput = "input";
constexpr const char* kOutput = "output";

// Positions in the headers of IPv4, IPv6 and UDP, for "payload" expressions.
struct Field {
  std::uint32_t base;
  std::uint32_t offset;
  std::uint32_t size;
};
constexpr Field kSourcePort{NFT_PAYLOAD_TRANSPORT_HEADER, 0, 2};
constexpr Field kDestinationPort{NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2};
constexpr Field kChecksum{NFT_PAYLOAD_TRANSPORT_HEADER, 6, 2};

Field source_address(IpFamily family) {
  if (family == IpFamily::V4) return {NFT_PAYLOAD_NETWORK_HEADER, 12, 4};
  return {NFT_PAYLOAD_NETWORK_HEADER, 8, 16};
}
Field destination_address(IpFamily family) {
  if (family == IpFamily::V4) return {NFT_PAYLOAD_NETWORK_HEADER, 16, 4};
  return {NFT_PAYLOAD_NETWORK_HEADER, 24, 16};
}

// Attributes -------------------------------------------------------------------------------------

std::string number(std::uint16_t type, std::uint32_t value) {
  const std::uint32_t wire = htonl(value);
  return nested(type, {reinterpret_cast<const char*>(&wire), sizeof(wire)});
}

std::string text(std::uint16_t type, const std::string& value) {
  return nested(type, {value.c_str(), value.size() + 1});
}

std::string group(std::uint16_t type, const std::string& members) {
  return nested(NLA_F_NESTED | type, members);
}

std::string two_bytes(std::uint16_t value) {
  const std::uint16_t wire = htons(value);
  return {reinterpret_cast<const char*>(&wire), sizeof(wire)};
}

// Expressions: what a rule consists of -----------------------------------------------------------

std::string expression(const std::string& name, const std::string& content) {
  return group(NFTA_LIST_ELEM, text(NFTA_EXPR_NAME, name) + group(NFTA_EXPR_DATA, content));
}

std::string load(const Field& field) {
  return expression("payload", number(NFTA_PAYLOAD_DREG, NFT_REG_1) +
                                   number(NFTA_PAYLOAD_BASE, field.base) +
                                   number(NFTA_PAYLOAD_OFFSET, field.offset) +
                                   number(NFTA_PAYLOAD_LEN, field.size));
}

std::string compare(std::uint32_t how, std::string_view with) {
  return expression("cmp", number(NFTA_CMP_SREG, NFT_REG_1) + number(NFTA_CMP_OP, how) +
                               group(NFTA_CMP_DATA, nested(NFTA_DATA_VALUE, with)));
}

std::string is_udp() {
  const char protocol = IPPROTO_UDP;
  return expression("meta",
                    number(NFTA_META_DREG, NFT_REG_1) + number(NFTA_META_KEY, NFT_META_L4PROTO)) +
         compare(NFT_CMP_EQ, {&protocol, 1});
}

std::string equals(const Field& field, std::string_view value) {
  return load(field) + compare(NFT_CMP_EQ, value);
}

std::string within(const Field& field, const core::Cidr& range) {
  return load(field) + compare(NFT_CMP_GTE, raw(range.first())) +
         compare(NFT_CMP_LTE, raw(range.last()));
}

/// Write the port into the packet. With a checksum the kernel updates it incrementally.
std::string set_port(const Field& field, std::uint16_t port, bool has_checksum = true) {
  const auto value = expression(
      "immediate", number(NFTA_IMMEDIATE_DREG, NFT_REG_1) +
                       group(NFTA_IMMEDIATE_DATA, nested(NFTA_DATA_VALUE, two_bytes(port))));
  auto content = number(NFTA_PAYLOAD_SREG, NFT_REG_1) + number(NFTA_PAYLOAD_BASE, field.base) +
                 number(NFTA_PAYLOAD_OFFSET, field.offset) + number(NFTA_PAYLOAD_LEN, field.size);
  if (has_checksum)
    content += number(NFTA_PAYLOAD_CSUM_TYPE, NFT_PAYLOAD_CSUM_INET) +
               number(NFTA_PAYLOAD_CSUM_OFFSET, kChecksum.offset);
  return value + expression("payload", content);
}

std::string verdict(int code, const std::string& chain = {}) {
  auto content = number(NFTA_VERDICT_CODE, static_cast<std::uint32_t>(code));
  if (!chain.empty()) content += text(NFTA_VERDICT_CHAIN, chain);
  return expression("immediate", number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT) +
                                     group(NFTA_IMMEDIATE_DATA, group(NFTA_DATA_VERDICT, content)));
}

// Messages ---------------------------------------------------------------------------------------

/// A batch of nf_tables messages for one family.
class Messages {
 public:
  explicit Messages(IpFamily family)
      : family_(family == IpFamily::V4 ? NFPROTO_IPV4 : NFPROTO_IPV6) {
    mark(NFNL_MSG_BATCH_BEGIN);
  }

  void add_table() { add(NFT_MSG_NEWTABLE, NLM_F_CREATE, text(NFTA_TABLE_NAME, kTable)); }
  void remove_table() { add(NFT_MSG_DELTABLE, 0, text(NFTA_TABLE_NAME, kTable)); }

  void add_chain(const std::string& name) {
    add(NFT_MSG_NEWCHAIN, NLM_F_CREATE,
        text(NFTA_CHAIN_TABLE, kTable) + text(NFTA_CHAIN_NAME, name));
  }
  void add_hooked_chain(const std::string& name, std::uint32_t hook) {
    add(NFT_MSG_NEWCHAIN, NLM_F_CREATE,
        text(NFTA_CHAIN_TABLE, kTable) + text(NFTA_CHAIN_NAME, name) +
            group(NFTA_CHAIN_HOOK,
                  number(NFTA_HOOK_HOOKNUM, hook) + number(NFTA_HOOK_PRIORITY, 0)) +
            number(NFTA_CHAIN_POLICY, NF_ACCEPT) + text(NFTA_CHAIN_TYPE, "filter"));
  }
  void add_rule(const std::string& chain, const std::string& expressions) {
    add(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND,
        text(NFTA_RULE_TABLE, kTable) + text(NFTA_RULE_CHAIN, chain) +
            group(NFTA_RULE_EXPRESSIONS, expressions));
  }

  std::string finish() && {
    const std::uint16_t flags = NLM_F_REQUEST | NLM_F_ACK | last_flags_;
    std::memcpy(bytes_.data() + last_ + offsetof(nlmsghdr, nlmsg_flags), &flags, sizeof(flags));
    mark(NFNL_MSG_BATCH_END);
    return std::move(bytes_);
  }

 private:
  void mark(std::uint16_t type) {
    nfgenmsg header{};
    header.nfgen_family = AF_UNSPEC;
    header.res_id = htons(NFNL_SUBSYS_NFTABLES);
    bytes_ += Request(type, 0, header, ++sequence_).bytes();
  }
  void add(std::uint16_t type, unsigned flags, const std::string& attributes) {
    nfgenmsg header{};
    header.nfgen_family = family_;
    header.version = NFNETLINK_V0;
    last_ = bytes_.size();
    last_flags_ = static_cast<std::uint16_t>(flags);
    Request request(static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8U | type), flags, header,
                    ++sequence_);
    bytes_ += std::move(request.attributes(attributes)).bytes();
  }

  unsigned char family_;
  std::uint32_t sequence_ = 0;
  std::size_t last_ = 0;  ///< offset of the last message, the only one to be acknowledged
  std::uint16_t last_flags_ = 0;
  std::string bytes_;
};

IpFamily family_of(const UdpRule& rule) {
  return rule.at.address.family();
}

std::string destined_to(const UdpRule& rule, std::uint16_t port) {
  return is_udp() + equals(destination_address(family_of(rule)), raw(rule.at.address)) +
         equals(kDestinationPort, two_bytes(port));
}

std::string sent_from(const UdpRule& rule, std::uint16_t port) {
  return is_udp() + equals(source_address(family_of(rule)), raw(rule.at.address)) +
         equals(kSourcePort, two_bytes(port));
}

/// Add a chain that redirects and return the verdict that goes there. UDP over IPv4 allows a
/// checksum of zero for "none" (RFC 768): updated, it would become a wrong one, so it must stay
/// zero.
std::string add_redirect_chain(Messages& messages, const UdpRule& rule, const std::string& chain) {
  messages.add_chain(chain);
  messages.add_rule(chain, equals(kChecksum, two_bytes(0)) +
                               set_port(kDestinationPort, rule.divert, false) + verdict(NF_ACCEPT));
  messages.add_rule(chain, set_port(kDestinationPort, rule.divert) + verdict(NF_ACCEPT));
  return verdict(NFT_GOTO, chain);
}

/// Filter by source address first, then redirect. Both end with an accept, after which no rule of
/// the input chain sees the packet: the one that blocks the redirect port does not hit redirected
/// ones.
void add_port_rules(Messages& messages, const UdpRule& rule, const std::string& chain) {
  const auto family = family_of(rule);
  messages.add_chain(chain);
  const auto pass = rule.divert == 0 ? verdict(NF_ACCEPT)
                                     : add_redirect_chain(messages, rule, chain + "redirect");
  if (!rule.restricted) messages.add_rule(chain, pass);
  for (const auto& range : rule.allowed)
    if (rule.restricted && range.address.family() == family)
      messages.add_rule(chain, within(source_address(family), range) + pass);
  if (rule.restricted) messages.add_rule(chain, verdict(NF_DROP));

  messages.add_rule(kInput, destined_to(rule, rule.at.port) + verdict(NFT_JUMP, chain));
}

/// Block the redirect port from outside, and let answers from it appear to come from the rule's
/// port.
void add_redirect_port_rules(Messages& messages, const UdpRule& rule) {
  messages.add_rule(kInput, destined_to(rule, rule.divert) + verdict(NF_DROP));
  messages.add_rule(kOutput, sent_from(rule, rule.divert) + set_port(kSourcePort, rule.at.port) +
                                 verdict(NF_ACCEPT));
}

}  // namespace

bool has_rules(IpFamily family, const Rules& rules) {
  const auto is_of_family = [family](const UdpRule& rule) { return family_of(rule) == family; };
  return std::ranges::any_of(rules.active, is_of_family) ||
         std::ranges::any_of(rules.idle, is_of_family);
}

std::string replace_rules(IpFamily family, const Rules& rules) {
  Messages messages(family);
  // Deleting a table that does not exist is an error, and creating one that exists is not.
  messages.add_table();
  messages.remove_table();
  if (!has_rules(family, rules)) return std::move(messages).finish();
  messages.add_table();
  messages.add_hooked_chain(kInput, NF_INET_LOCAL_IN);
  messages.add_hooked_chain(kOutput, NF_INET_LOCAL_OUT);
  for (const auto& rule : rules.idle)
    if (family_of(rule) == family) add_redirect_port_rules(messages, rule);
  std::size_t count = 0;
  for (const auto& rule : rules.active) {
    if (family_of(rule) != family) continue;
    if (rule.divert != 0) add_redirect_port_rules(messages, rule);
    add_port_rules(messages, rule, "rule" + std::to_string(count++));
  }
  return std::move(messages).finish();
}

std::string ask_generation() {
  return Request(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN, NLM_F_ACK,
                 nfgenmsg{AF_UNSPEC, NFNETLINK_V0, 0})
      .bytes();
}

std::optional<std::uint32_t> parse_generation(std::string_view answer) {
  std::optional<std::uint32_t> out;
  netlink::each_message(answer, [&](const nlmsghdr& head, std::string_view payload) {
    if (head.nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWGEN)) return;
    if (!netlink::take<nfgenmsg>(payload)) return;
    netlink::each_attribute(payload, [&](unsigned type, std::string_view value) {
      if (type != NFTA_GEN_ID) return;
      if (const auto wire = netlink::take<std::uint32_t>(value)) out = ntohl(*wire);
    });
  });
  return out;
}

}  // namespace kindlb::agent::nftables

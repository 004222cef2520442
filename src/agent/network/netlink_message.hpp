#pragma once
// A netlink message as bytes (netlink(7)): nlmsghdr, the subsystem's own header, attributes. Shared
// by rtnetlink and nf_tables. Pure.

#include "kindlb/core/ip.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kindlb::agent::netlink {

inline std::size_t aligned(std::size_t size) {
  constexpr std::size_t kAlign = 4;
  return (size + kAlign - 1) / kAlign * kAlign;
}

/// Take a value from the front, and the padding after it. Nothing if the bytes do not suffice.
template <typename T>
std::optional<T> take(std::string_view& from) {
  if (from.size() < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, from.data(), sizeof(T));
  from.remove_prefix(std::min(aligned(sizeof(T)), from.size()));
  return out;
}

/// Call visit(header, payload) for each complete message.
template <typename Visit>
void each_message(std::string_view answer, Visit visit) {
  while (answer.size() >= sizeof(nlmsghdr)) {
    std::string_view rest = answer;
    const auto header = *take<nlmsghdr>(rest);
    if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > answer.size()) return;
    visit(header,
          answer.substr(aligned(sizeof(nlmsghdr)), header.nlmsg_len - aligned(sizeof(nlmsghdr))));
    answer.remove_prefix(std::min(aligned(header.nlmsg_len), answer.size()));
  }
}

/// Call visit(type, value) for each complete attribute.
template <typename Visit>
void each_attribute(std::string_view attributes, Visit visit) {
  while (attributes.size() >= sizeof(rtattr)) {
    std::string_view rest = attributes;
    const auto head = *take<rtattr>(rest);
    if (head.rta_len < sizeof(rtattr) || head.rta_len > attributes.size()) return;
    visit(head.rta_type, attributes.substr(sizeof(rtattr), head.rta_len - sizeof(rtattr)));
    attributes.remove_prefix(std::min(aligned(head.rta_len), attributes.size()));
  }
}

inline std::string_view raw(const core::IpAddress& address) {
  return {reinterpret_cast<const char*>(address.bytes().data()), address.bits() / 8};
}

/// Return an attribute as bytes, padded to four as the kernel wants it; its value may be
/// attributes.
inline std::string nested(std::uint16_t type, std::string_view value) {
  const rtattr head{static_cast<unsigned short>(sizeof(rtattr) + value.size()), type};
  std::string out(reinterpret_cast<const char*>(&head), sizeof(head));
  out += value;
  out.resize(aligned(out.size()));
  return out;
}

/// Builds one request. The length in the header is set by bytes(), which ends the building.
class Request {
 public:
  template <typename Header>
  Request(std::uint16_t type, unsigned flags, const Header& header, std::uint32_t sequence = 1) {
    nlmsghdr head{};
    head.nlmsg_type = type;
    head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    head.nlmsg_seq = sequence;
    append(head);
    append(header);
  }

  Request& attribute(std::uint16_t type, std::string_view value) {
    bytes_ += nested(type, value);
    return *this;
  }
  /// Append attributes that have been encoded already.
  Request& attributes(std::string_view several) {
    bytes_ += several;
    return *this;
  }
  template <typename T>
  Request& value(std::uint16_t type, const T& content) {
    return attribute(type, {reinterpret_cast<const char*>(&content), sizeof(content)});
  }

  std::string bytes() && {
    const auto size = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &size, sizeof(size));
    return std::move(bytes_);
  }

 private:
  template <typename T>
  void append(const T& part) {
    bytes_.append(reinterpret_cast<const char*>(&part), sizeof(part));
    bytes_.resize(aligned(bytes_.size()));
  }
  std::string bytes_;
};

}  // namespace kindlb::agent::netlink

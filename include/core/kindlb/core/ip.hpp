#pragma once
// IP addresses, prefixes and ranges as comparable values. Parsing is strict: inet_pton decides, and
// a prefix must have a length. No I/O, no name resolution.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::core {

enum class IpFamily { V4, V6 };

const char* name_of(IpFamily family);  ///< "IPv4" | "IPv6", as in spec.ipFamilies

/// An IPv4 or IPv6 address. Ordered by family (IPv4 first), then numerically.
class IpAddress {
 public:
  static std::optional<IpAddress> parse(std::string_view text);
  static IpAddress v4(std::uint32_t host_order);
  static IpAddress from_bytes(IpFamily family, const std::array<std::uint8_t, 16>& bytes);

  IpFamily family() const { return family_; }
  /// Network order; an IPv4 address occupies the first four bytes, the rest are zero.
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  unsigned bits() const { return family_ == IpFamily::V4 ? 32 : 128; }
  std::string text() const;
  /// Return the next lower or higher address; nothing at the end of the address space.
  std::optional<IpAddress> previous() const;
  std::optional<IpAddress> next() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  IpFamily family_ = IpFamily::V4;
  std::array<std::uint8_t, 16> bytes_{};
};

/// An address with a prefix length; host bits are kept, so it also serves as an interface address.
struct Cidr {
  IpAddress address;
  unsigned length = 0;

  static std::optional<Cidr> parse(std::string_view text);
  /// The prefix of full length that holds only this address.
  static Cidr host(const IpAddress& address);

  bool contains(const IpAddress& other) const;
  IpAddress first() const;  ///< the network address
  IpAddress last() const;   ///< the highest address (the broadcast address of IPv4)
  std::string text() const;

  auto operator<=>(const Cidr&) const = default;
};

/// All addresses from `first` to `last`, both of one family.
struct AddressRange {
  IpAddress first;
  IpAddress last;

  /// "172.18.200.1-172.18.200.9", "172.18.200.0/24" or a single address.
  static std::optional<AddressRange> parse(std::string_view text);
  IpFamily family() const { return first.family(); }
  bool contains(const IpAddress& address) const;
  std::string text() const;

  auto operator<=>(const AddressRange&) const = default;
};

}  // namespace kindlb::core

#include "kindlb/core/ip.hpp"

#include "kindlb/base/number.hpp"

#include <arpa/inet.h>

namespace kindlb::core {

const char* name_of(IpFamily family) {
  return family == IpFamily::V4 ? "IPv4" : "IPv6";
}

/// A NUL inside the text would end it early for inet_pton, and "10.0.0.1\0x" would pass.
std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string terminated(text);
  IpAddress out;
  out.family_ = text.find(':') == std::string_view::npos ? IpFamily::V4 : IpFamily::V6;
  const int af = out.family_ == IpFamily::V4 ? AF_INET : AF_INET6;
  if (text.find('\0') != std::string_view::npos ||
      inet_pton(af, terminated.c_str(), out.bytes_.data()) != 1)
    return std::nullopt;
  return out;
}

IpAddress IpAddress::v4(std::uint32_t host_order) {
  IpAddress out;
  for (unsigned i = 0; i < 4; ++i)
    out.bytes_[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  return out;
}

IpAddress IpAddress::from_bytes(IpFamily family, const std::array<std::uint8_t, 16>& bytes) {
  IpAddress out;
  out.family_ = family;
  const std::size_t size = family == IpFamily::V4 ? 4 : 16;
  for (std::size_t i = 0; i < size; ++i) out.bytes_[i] = bytes[i];
  return out;
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(family_ == IpFamily::V4 ? AF_INET : AF_INET6, bytes_.data(), buffer.data(),
            static_cast<socklen_t>(buffer.size()));
  return buffer.data();
}

std::optional<IpAddress> IpAddress::previous() const {
  IpAddress out = *this;
  for (std::size_t i = bits() / 8; i-- > 0;)
    if (out.bytes_[i]-- != 0) return out;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::next() const {
  IpAddress out = *this;
  for (std::size_t i = bits() / 8; i-- > 0;)
    if (++out.bytes_[i] != 0) return out;
  return std::nullopt;
}

std::optional<Cidr> Cidr::parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = IpAddress::parse(text.substr(0, slash));
  const auto length = base::parse_number<unsigned>(text.substr(slash + 1));
  if (!address || !length || *length > address->bits()) return std::nullopt;
  return Cidr{*address, *length};
}

Cidr Cidr::host(const IpAddress& address) {
  return {address, address.bits()};
}

namespace {
/// The address with every bit beyond the prefix set to `bit`.
IpAddress with_host_bits(const Cidr& cidr, bool bit) {
  auto bytes = cidr.address.bytes();
  for (unsigned i = cidr.length; i < cidr.address.bits(); ++i) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> (i % 8));
    if (bit)
      bytes[i / 8] |= mask;
    else
      bytes[i / 8] &= static_cast<std::uint8_t>(~mask);
  }
  return IpAddress::from_bytes(cidr.address.family(), bytes);
}
}  // namespace

bool Cidr::contains(const IpAddress& other) const {
  return other.family() == address.family() && Cidr{other, length}.first() == first();
}

IpAddress Cidr::first() const {
  return with_host_bits(*this, false);
}

IpAddress Cidr::last() const {
  return with_host_bits(*this, true);
}

std::string Cidr::text() const {
  return address.text() + "/" + std::to_string(length);
}

/// Try a prefix first: "-" does not occur in one, nor "/" in the other forms.
std::optional<AddressRange> AddressRange::parse(std::string_view text) {
  if (const auto cidr = Cidr::parse(text)) return AddressRange{cidr->first(), cidr->last()};
  const auto dash = text.find('-');
  const auto first = IpAddress::parse(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : IpAddress::parse(text.substr(dash + 1));
  if (!first || !last || first->family() != last->family() || *last < *first) return std::nullopt;
  return AddressRange{*first, *last};
}

bool AddressRange::contains(const IpAddress& address) const {
  return address.family() == family() && first <= address && address <= last;
}

std::string AddressRange::text() const {
  return first == last ? first.text() : first.text() + "-" + last.text();
}

}  // namespace kindlb::core

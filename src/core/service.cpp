#include "kindlb/core/service.hpp"

#include "kindlb/core/proxy_config.hpp"

namespace kindlb::core {

const char* name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::Tcp:
      return "TCP";
    case Protocol::Udp:
      return "UDP";
    case Protocol::Sctp:
      return "SCTP";
  }
  return "?";
}

std::optional<Protocol> parse_protocol(const std::string& text) {
  for (const auto protocol : {Protocol::Tcp, Protocol::Udp, Protocol::Sctp})
    if (text == name_of(protocol)) return protocol;
  return std::nullopt;
}

std::string Target::text() const {
  const auto host = address.text();
  return (address.family() == IpFamily::V6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace kindlb::core

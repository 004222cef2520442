#include "kindlb/core/service.hpp"

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

}  // namespace kindlb::core

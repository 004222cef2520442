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

std::string port_label(Protocol protocol, std::uint16_t port) {
  return std::string(name_of(protocol)) + "/" + std::to_string(port);
}

const char* name_of(ConditionStatus status) {
  switch (status) {
    case ConditionStatus::True:
      return "True";
    case ConditionStatus::False:
      return "False";
    case ConditionStatus::Unknown:
      break;
  }
  return "Unknown";
}

}  // namespace kindlb::core

// Which ports of a Service can be opened (KEP-1435: mixed protocols).
#include "kindlb/base/text.hpp"
#include "limitations.hpp"

#include <algorithm>
#include <map>

namespace kindlb::core {

namespace {

/// A provider-specific value of PortStatus.error in the format of KEP-1435.
constexpr const char* kPortError = "kindlb.dev/PortsNotSupported";

enum class Closed { No, Protocol, OnePort, OneProtocol, SameNumber };

MixedProtocols mixing_for(const Service& service, const Capabilities& can) {
  if (can.mixed_protocols_annotation.empty()) return can.mixed_protocols;
  const auto found = service.annotations.find(can.mixed_protocols_annotation);
  const bool asked = found != service.annotations.end() && base::trimmed(found->second) == "true";
  return asked ? can.mixed_protocols : MixedProtocols::None;
}

/// Return why `port` stays closed, given the ports opened before it. The order of spec.ports
/// decides which ports win.
Closed why_closed(const ServicePort& port, const std::vector<ServicePort>& open,
                  const Capabilities& can, MixedProtocols mixing) {
  if (!can.protocols.contains(port.protocol)) return Closed::Protocol;
  if (open.empty()) return Closed::No;
  if (!can.several_ports) return Closed::OnePort;
  if (mixing == MixedProtocols::None && open.front().protocol != port.protocol)
    return Closed::OneProtocol;
  const bool number_used = std::any_of(open.begin(), open.end(), [&](const ServicePort& other) {
    return other.port == port.port && other.protocol != port.protocol;
  });
  return mixing == MixedProtocols::DistinctPorts && number_used ? Closed::SameNumber : Closed::No;
}

std::string protocols_of(const Capabilities& can) {
  std::string out;
  for (const auto protocol : can.protocols)
    out += (out.empty() ? "" : " or ") + std::string(name_of(protocol));
  return out;
}

/// Explain with a remedy, which is a different one for each cause.
std::string explained(Closed why, const std::vector<std::string>& ports, const Verdict& verdict,
                      const Capabilities& can) {
  const auto names = base::joined(ports);
  switch (why) {
    case Closed::No:
      break;
    case Closed::Protocol:
      return "the protocol of " + names + " is not supported (spec.ports): use " +
             protocols_of(can);
    case Closed::OnePort:
      return "only one port is supported, so " + names +
             " is not opened: use a Service for each port";
    case Closed::OneProtocol:
      return "protocols cannot be mixed: " + names + " is not opened beside " +
             name_of(verdict.ports.front().protocol) +
             (can.mixed_protocols_annotation.empty()
                  ? " and needs a Service of its own"
                  : "; the annotation " + can.mixed_protocols_annotation + ": \"true\" allows it");
    case Closed::SameNumber:
      return "a port number cannot be used by two protocols, so " + names +
             " is not opened: use another number or a Service of its own";
  }
  return {};
}

}  // namespace

void evaluate_ports(const Service& service, const Capabilities& can, Verdict& verdict,
                    Limitations& limitations) {
  const auto mixing = mixing_for(service, can);
  std::map<Closed, std::vector<std::string>> closed;
  for (const auto& port : service.spec.ports) {
    const auto why = why_closed(port, verdict.ports, can, mixing);
    if (why == Closed::No)
      verdict.ports.push_back(port);
    else
      closed[why].push_back(port_label(port.protocol, port.port));
    verdict.port_status.push_back({port.port, port.protocol, why == Closed::No ? "" : kPortError});
  }
  if (closed.empty()) return;
  std::string what;
  for (const auto& [why, ports] : closed)
    what += (what.empty() ? "" : "; ") + explained(why, ports, verdict, can);
  if (verdict.ports.empty())
    limitations.fatal.push_back({.feature = "Ports",
                                 .reason = "PortsNotSupported",
                                 .what = what + "; no port could be opened",
                                 .instead = "",
                                 .remedy = ""});
  else
    limitations.degradable.push_back({.feature = "Ports",
                                      .reason = "PortsNotSupported",
                                      .what = what,
                                      .instead = "the other ports are served",
                                      .remedy = ""});
}

}  // namespace kindlb::core

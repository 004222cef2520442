#include "kindlb/core/proxy_config.hpp"

#include "kindlb/core/hash.hpp"
#include "kindlb/core/plan.hpp"

namespace kindlb::core {

namespace {

std::string short_family(IpFamily family) {
  return family == IpFamily::V4 ? "v4" : "v6";
}

const char* letter_of(PathKind path) {
  switch (path) {
    case PathKind::Direct:
      return "d";
    case PathKind::NodePorts:
      return "n";
    case PathKind::Unknown:
      break;
  }
  return "";
}

/// Listener and backend share their name, "<uid>/TCP/80/v4". It contains the uid and not the
/// Service's name, so that a Service recreated under the same name gets resources of its own.
void add_port(ProxyConfig& config, const Service& service, const Verdict& verdict,
              const ServicePort& port, const IpAddress& address, const Path& path) {
  const auto name = config.unit + "/" + port_label(port.protocol, port.port) + "/" +
                    short_family(address.family());
  const bool local = service.spec.external_traffic_policy == TrafficPolicy::Local;
  const auto targets = path.targets.find({port.protocol, port.port});
  config.listeners.push_back({.name = name,
                              .address = address,
                              .port = port.port,
                              .protocol = port.protocol,
                              .backend = name,
                              .restricted = verdict.ranges.given(),
                              .allowed = verdict.ranges.of(address.family())});
  config.backends.push_back(
      {.name = name,
       .protocol = port.protocol,
       .affinity = verdict.affinity,
       .proxy_protocol =
           port.protocol == Protocol::Tcp ? verdict.proxy_protocol : ProxyProtocol::None,
       .health_port =
           !path.direct && local ? service.spec.health_check_node_port : std::uint16_t{0},
       .targets = targets == path.targets.end() ? std::vector<Target>{} : targets->second});
}

}  // namespace

std::string Target::text() const {
  const auto host = address.text();
  return (address.family() == IpFamily::V6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

ProxyConfig wanted_config(const Service& service, const Verdict& verdict,
                          const std::map<IpFamily, Cidr>& addresses,
                          const std::map<IpFamily, Path>& paths) {
  ProxyConfig config{.unit = service.uid, .owner = service.key};
  for (const auto& [family, address] : addresses) {
    config.addresses.push_back(address);
    const auto& path = paths.at(family);
    config.direct = config.direct && path.direct;
    config.routes.insert(config.routes.end(), path.routes.begin(), path.routes.end());
    for (const auto& port : verdict.ports)
      add_port(config, service, verdict, port, address.address, path);
  }
  return config;
}

std::string Revision::text() const {
  if (shape.empty()) return "";
  return shape + "." + letter_of(path) + flow;
}

Revision Revision::parse(const std::string& text) {
  const auto dot = text.find('.');
  if (dot == std::string::npos) return {};
  Revision out{.shape = text.substr(0, dot), .flow = text.substr(dot + 1)};
  for (const auto path : {PathKind::Direct, PathKind::NodePorts})
    if (out.flow.starts_with(letter_of(path))) out.path = path;
  if (out.path != PathKind::Unknown) out.flow.erase(0, 1);
  return out;
}

/// `shape` and `flow` are persisted by the agent: a change of what is hashed here makes every
/// Service be sent to its proxy once more after an upgrade.
Revision revision_of(const ProxyConfig& config) {
  Hasher shape;
  Hasher flow;
  shape.add(config.unit);
  for (const auto& address : config.addresses) shape.add(address.text());
  for (const auto& listener : config.listeners) {
    shape.add(listener.name).add(listener.address.text()).add(listener.port);
    shape.add(name_of(listener.protocol)).add(listener.restricted ? 1U : 0U);
    for (const auto& range : listener.allowed) shape.add(range.text());
  }
  for (const auto& backend : config.backends) {
    shape.add(backend.name)
        .add(static_cast<std::uint64_t>(backend.affinity))
        .add(static_cast<std::uint64_t>(backend.proxy_protocol));
    flow.add(backend.name).add(backend.health_port);
    for (const auto& target : backend.targets) flow.add(target.text());
  }
  for (const auto& route : config.routes) flow.add(route.to.text()).add(route.via.text());
  return {.shape = shape.text(),
          .path = config.direct ? PathKind::Direct : PathKind::NodePorts,
          .flow = flow.text()};
}

}  // namespace kindlb::core

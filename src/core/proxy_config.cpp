#include "kindlb/core/proxy_config.hpp"

#include "kindlb/core/hash.hpp"
#include "kindlb/core/plan.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

std::string port_label(const ServicePort& port) {
  return std::string(name_of(port.protocol)) + "/" + std::to_string(port.port);
}

std::string short_family(IpFamily family) {
  return family == IpFamily::V4 ? "v4" : "v6";
}

void add_port(ProxyConfig& config, const ServicePort& port, const IpAddress& address,
              const Path& path, Affinity affinity) {
  const auto name = config.unit + "/" + port_label(port) + "/" + short_family(address.family());
  const auto targets = path.targets.find({port.protocol, port.port});
  config.listeners.push_back({.name = name,
                              .address = address,
                              .port = port.port,
                              .protocol = port.protocol,
                              .backend = name,
                              .restricted = false,
                              .allowed = {}});
  config.backends.push_back(
      {.name = name,
       .protocol = port.protocol,
       .affinity = affinity,
       .targets = targets == path.targets.end() ? std::vector<Target>{} : targets->second});
}

bool lacks(const Verdict& verdict, const char* feature) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(),
                     [&](const Reason& reason) { return reason.feature == feature; });
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
  const auto affinity = lacks(verdict, "SessionAffinity") ? Affinity::None : service.spec.affinity;
  for (const auto& [family, address] : addresses) {
    config.addresses.push_back(address);
    const auto& path = paths.at(family);
    config.direct = config.direct && path.direct;
    config.routes.insert(config.routes.end(), path.routes.begin(), path.routes.end());
    for (const auto& port : verdict.ports) add_port(config, port, address.address, path, affinity);
  }
  return config;
}

Revision Revision::parse(const std::string& text) {
  const auto dot = text.find('.');
  if (dot == std::string::npos) return {};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

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
    shape.add(backend.name).add(static_cast<std::uint64_t>(backend.affinity));
    flow.add(backend.name);
    for (const auto& target : backend.targets) flow.add(target.text());
  }
  for (const auto& route : config.routes) flow.add(route.to.text()).add(route.via.text());
  return {shape.text(), (config.direct ? "d" : "n") + flow.text()};
}

}  // namespace kindlb::core

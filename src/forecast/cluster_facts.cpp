#include "kindlb/forecast/cluster_facts.hpp"

#include "kindlb/core/assert.hpp"
#include "kindlb/yaml/fields.hpp"
#include "kindlb/yaml/node.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace kindlb::forecast {

namespace {

using core::Cidr;
using core::IpAddress;
using core::IpFamily;
using yaml::Fields;

IpAddress address(const char* text) {
  const auto parsed = IpAddress::parse(text);
  KINDLB_ASSERT(parsed.has_value());
  return *parsed;
}

Cidr subnet(const char* text) {
  const auto parsed = Cidr::parse(text);
  KINDLB_ASSERT(parsed.has_value());
  return *parsed;
}

/// kind's single node is Ready and carries no label that excludes it.
core::Node default_node() {
  return {.name = "kind-control-plane",
          .uid = "kind-control-plane",
          .ready = true,
          .internal_ips = {address("172.18.0.2"), address("fc00:f853:ccd:e793::2")},
          .pod_cidrs = {subnet("10.244.0.0/24"), subnet("fd00:10:244::/64")}};
}

std::vector<Cidr> default_subnets() {
  return {subnet("172.18.0.0/16"), subnet("fc00:f853:ccd:e793::/64")};
}

/// Parse a list of addresses or prefixes; each invalid item is a fault at its own place.
template <typename T>
std::vector<T> read_values(Fields& fields, const char* key, const char* what) {
  std::vector<T> out;
  for (const auto* const node : fields.list(key).value_or(std::vector<const yaml::Node*>{})) {
    if (const auto value = T::parse(node->text))
      out.push_back(*value);
    else
      fields.complain(*node, "expected " + std::string(what) + ", not " + yaml::describe(*node));
  }
  return out;
}

/// Read subnets and taken addresses. The gateway is added by complete().
void read_network(const yaml::Node& node, yaml::Faults& faults, ClusterFacts& out) {
  Fields fields(node, faults);
  auto subnets = read_values<Cidr>(fields, "subnets", "a subnet such as 172.18.0.0/16");
  if (fields.find("subnets") == nullptr) subnets = default_subnets();
  for (const auto& one : subnets)
    if (!out.network.emplace(one.address.family(), core::AddressSpace{one, {}, {}}).second)
      fields.complain(*fields.find("subnets"), std::string("more than one subnet of ") +
                                                   core::name_of(one.address.family()));
  for (const auto& taken : read_values<IpAddress>(fields, "taken", "an address"))
    if (const auto space = out.network.find(taken.family()); space != out.network.end())
      space->second.taken.insert(taken);
}

std::vector<IpFamily> read_families(Fields& fields) {
  std::vector<IpFamily> out;
  for (const auto* const node :
       fields.list("ipFamilies").value_or(std::vector<const yaml::Node*>{})) {
    const auto family =
        fields.choice<IpFamily>(*node, {{"IPv4", IpFamily::V4}, {"IPv6", IpFamily::V6}});
    if (!family) continue;
    if (std::ranges::find(out, *family) != out.end())
      fields.complain(*node, node->text + " is given twice");
    out.push_back(*family);
  }
  return out;
}

core::Node read_node(const yaml::Node& node, yaml::Faults& faults) {
  Fields fields(node, faults);
  core::Node out;
  out.name = fields.required("name");
  out.uid = out.name;
  out.ready = fields.flag("ready").value_or(true);
  out.excluded = fields.flag("excluded").value_or(false);
  out.internal_ips = read_values<IpAddress>(fields, "addresses", "an address");
  out.pod_cidrs = read_values<Cidr>(fields, "podCIDRs", "a prefix such as 10.244.0.0/24");
  return out;
}

BriefEndpoints read_endpoints(const yaml::Node& node, const std::string& file,
                              yaml::Faults& faults) {
  Fields fields(node, faults);
  BriefEndpoints out;
  out.service = fields.required("service");
  if (out.service.find('/') == std::string::npos) out.service = "default/" + out.service;
  out.node = fields.text("node").value_or("");
  out.ready = fields.flag("ready").value_or(true);
  out.addresses = read_values<IpAddress>(fields, "addresses", "an address");
  out.place = yaml::fault(file, node.place, "").operation;
  const auto* const ports = fields.find("ports");
  if (ports != nullptr && ports->kind != yaml::Kind::Map)
    fields.complain(*ports, "'ports' must be a map from a port's name to a number, not " +
                                yaml::describe(*ports));
  else if (ports != nullptr)
    for (std::size_t i = 0; i < ports->keys.size(); ++i)
      out.ports[ports->keys[i].text] = yaml::port_of(ports->items[i], faults);
  return out;
}

/// Add what follows from the rest: families from the subnets, and the addresses that the gateway
/// (by convention the first of a docker network) and the nodes hold.
void complete(ClusterFacts& facts) {
  if (facts.families.empty())
    for (const auto& [family, space] : facts.network) facts.families.push_back(family);
  std::erase_if(facts.network, [&](const auto& item) {
    return std::ranges::find(facts.families, item.first) == facts.families.end();
  });
  for (auto& [family, space] : facts.network) {
    if (const auto gateway = space.subnet.first().next()) space.taken.insert(*gateway);
    for (const auto& node : facts.nodes)
      for (const auto& held : node.internal_ips)
        if (held.family() == family) space.taken.insert(held);
  }
}

/// Faults are collected; the caller checks them once at the end.
ClusterFacts read_facts(const yaml::Node& root, const std::string& file, yaml::Faults& faults) {
  static const yaml::Node kNothing;
  ClusterFacts out;
  Fields fields(root, faults);
  const auto* const network = fields.find("network");
  read_network(network == nullptr ? kNothing : *network, faults, out);
  out.families = read_families(fields);
  if (const auto nodes = fields.list("nodes"))
    for (const auto* const node : *nodes) out.nodes.push_back(read_node(*node, faults));
  else
    out.nodes.push_back(default_node());
  for (const auto* const node : fields.list("endpoints").value_or(std::vector<const yaml::Node*>{}))
    out.endpoints.push_back(read_endpoints(*node, file, faults));
  complete(out);
  return out;
}

}  // namespace

ClusterFacts default_facts() {
  yaml::Faults faults;
  return read_facts({}, "", faults);
}

core::Result<ClusterFacts> parse_facts(const std::string& yaml, const std::string& file) {
  const auto documents = yaml::parse(yaml, file);
  if (!documents.ok()) return documents.error();
  if (documents->size() > 1)
    return yaml::fault(file, (*documents)[1].place, "cluster facts must be a single YAML document");
  yaml::Faults faults;
  auto facts = read_facts(documents->empty() ? yaml::Node{} : documents->front(), file, faults);
  if (!faults.none()) return faults.error(file);
  return facts;
}

}  // namespace kindlb::forecast

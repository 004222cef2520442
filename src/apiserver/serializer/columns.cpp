#include "serializer/columns.hpp"

#include "kindlb/base/text.hpp"
#include "object_meta.hpp"
#include "serializer/table.hpp"

#include <time.h>

#include <fmt/format.h>

#include <ctime>
#include <map>

namespace kindlb::apiserver {

namespace {
constexpr const char* kNone = "<none>";

std::string or_none(const std::string& text) {
  return text.empty() ? kNone : text;
}

std::string joined(const std::vector<std::string>& list) {
  return base::joined(list, ",");
}

/// An age in the past, "<unknown>" for a missing time.
std::string since(const std::string& time) {
  std::tm parts{};
  if (time.empty() || strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr)
    return "<unknown>";
  return human_duration(std::time(nullptr) - timegm(&parts));
}

std::string name(const Json& object) {
  return text_at(object, {"metadata", "name"});
}

std::string age(const Json& object) {
  return since(text_at(object, {"metadata", "creationTimestamp"}));
}

std::string selector(const Json& object) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : map_at(object, {"spec", "selector"}).items())
    pairs.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : ""));
  return or_none(joined(pairs));
}

std::string cluster_ip(const Json& object) {
  return or_none(text_at(object, {"spec", "clusterIP"}));
}

/// "<pending>" only for load balancers: others never get one.
std::string external_ip(const Json& object) {
  const auto type = text_at(object, {"spec", "type"});
  if (type == "ExternalName") return text_at(object, {"spec", "externalName"});
  auto addresses = texts_at(object, {"spec", "externalIPs"});
  if (type != "LoadBalancer") return or_none(joined(addresses));
  std::vector<std::string> reached;
  for (const auto& ingress : list_at(object, {"status", "loadBalancer", "ingress"})) {
    const auto ip = text_at(ingress, {"ip"});
    reached.push_back(ip.empty() ? text_at(ingress, {"hostname"}) : ip);
  }
  reached.insert(reached.end(), addresses.begin(), addresses.end());
  return reached.empty() ? "<pending>" : joined(reached);
}

std::string ports(const Json& object) {
  std::vector<std::string> out;
  for (const auto& port : list_at(object, {"spec", "ports"})) {
    const auto node_port = number_at(port, {"nodePort"});
    const auto outer = fmt::format("{}", number_at(port, {"port"}));
    out.push_back((node_port == 0 ? outer : fmt::format("{}:{}", outer, node_port)) + "/" +
                  text_at(port, {"protocol"}));
  }
  return or_none(joined(out));
}

std::string node_status(const Json& object) {
  std::string out = "Unknown";
  for (const auto& condition : list_at(object, {"status", "conditions"}))
    if (text_at(condition, {"type"}) == "Ready")
      out = text_at(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  return bool_at(object, {"spec", "unschedulable"}) ? out + ",SchedulingDisabled" : out;
}

std::string node_roles(const Json& object) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [key, value] : map_at(object, {"metadata", "labels"}).items())
    if (key.starts_with(kPrefix)) roles.push_back(key.substr(kPrefix.size()));
  return or_none(joined(roles));
}

std::string node_address(const Json& object, const char* type) {
  for (const auto& address : list_at(object, {"status", "addresses"}))
    if (text_at(address, {"type"}) == type) return text_at(address, {"address"});
  return kNone;
}

std::string pod_ready(const Json& object) {
  const auto& statuses = list_at(object, {"status", "containerStatuses"});
  std::size_t ready = 0;
  for (const auto& status : statuses)
    if (bool_at(status, {"ready"})) ++ready;
  return fmt::format("{}/{}", ready, list_at(object, {"spec", "containers"}).size());
}

std::string pod_status(const Json& object) {
  if (is_terminating(object)) return "Terminating";
  const auto reason = text_at(object, {"status", "reason"});
  return reason.empty() ? text_at(object, {"status", "phase"}) : reason;
}

std::string pod_restarts(const Json& object) {
  std::int64_t restarts = 0;
  for (const auto& status : list_at(object, {"status", "containerStatuses"}))
    restarts += number_at(status, {"restartCount"});
  return std::to_string(restarts);
}

std::string last_seen(const Json& object) {
  for (const char* field : {"lastTimestamp", "eventTime", "firstTimestamp"})
    if (const auto time = text_at(object, {field}); !time.empty()) return since(time);
  return age(object);
}

std::string event_object(const Json& object) {
  return base::lowered(text_at(object, {"involvedObject", "kind"})) + "/" +
         text_at(object, {"involvedObject", "name"});
}

std::string slice_ports(const Json& object) {
  std::vector<std::string> out;
  for (const auto& port : list_at(object, {"ports"}))
    out.push_back(fmt::format("{}", number_at(port, {"port"})));
  return out.empty() ? "<unset>" : joined(out);
}

/// At most three addresses, as kube-apiserver prints them.
std::string slice_endpoints(const Json& object) {
  std::vector<std::string> out;
  for (const auto& endpoint : list_at(object, {"endpoints"}))
    for (const auto& address : texts_at(endpoint, {"addresses"})) out.push_back(address);
  constexpr std::size_t kShown = 3;
  const auto more = out.size() > kShown ? out.size() - kShown : 0;
  out.resize(out.size() - more);
  if (out.empty()) return "<unset>";
  return more == 0 ? joined(out) : fmt::format("{} + {} more...", joined(out), more);
}

/// A cell with the value at `path`.
std::function<std::string(const Json&)> plain(std::vector<const char*> path) {
  return [path = std::move(path)](const Json& object) {
    const Json* node = &object;
    for (const char* key : path) {
      node = find(*node, {key});
      if (node == nullptr) return std::string();
    }
    return node->is_string() ? node->get<std::string>() : dump(*node);
  };
}

std::function<std::string(const Json&)> plain_or_none(std::vector<const char*> path) {
  return [cell = plain(std::move(path))](const Json& object) { return or_none(cell(object)); };
}

/// `true`: a column of -o wide.
std::map<std::string, std::vector<Column>> make_columns() {
  return {
      {"services",
       {{"Name", false, name},
        {"Type", false, plain({"spec", "type"})},
        {"Cluster-IP", false, cluster_ip},
        {"External-IP", false, external_ip},
        {"Port(s)", false, ports},
        {"Age", false, age},
        {"Selector", true, selector}}},
      {"namespaces",
       {{"Name", false, name}, {"Status", false, plain({"status", "phase"})}, {"Age", false, age}}},
      {"nodes",
       {{"Name", false, name},
        {"Status", false, node_status},
        {"Roles", false, node_roles},
        {"Age", false, age},
        {"Version", false, plain({"status", "nodeInfo", "kubeletVersion"})},
        {"Internal-IP", true, [](const Json& o) { return node_address(o, "InternalIP"); }},
        {"External-IP", true, [](const Json& o) { return node_address(o, "ExternalIP"); }},
        {"OS-Image", true, plain_or_none({"status", "nodeInfo", "osImage"})},
        {"Kernel-Version", true, plain_or_none({"status", "nodeInfo", "kernelVersion"})},
        {"Container-Runtime", true,
         plain_or_none({"status", "nodeInfo", "containerRuntimeVersion"})}}},
      {"pods",
       {{"Name", false, name},
        {"Ready", false, pod_ready},
        {"Status", false, pod_status},
        {"Restarts", false, pod_restarts},
        {"Age", false, age},
        {"IP", true, plain_or_none({"status", "podIP"})},
        {"Node", true, plain_or_none({"spec", "nodeName"})},
        {"Nominated Node", true, plain_or_none({"status", "nominatedNodeName"})},
        {"Readiness Gates", true, [](const Json&) { return std::string(kNone); }}}},
      {"events",
       {{"Last Seen", false, last_seen},
        {"Type", false, plain({"type"})},
        {"Reason", false, plain({"reason"})},
        {"Object", false, event_object},
        {"Source", true, plain({"source", "component"})},
        {"Message", false, plain({"message"})},
        {"Count", true, plain({"count"})},
        {"Name", true, name}}},
      {"endpointslices",
       {{"Name", false, name},
        {"AddressType", false, plain({"addressType"})},
        {"Ports", false, slice_ports},
        {"Endpoints", false, slice_endpoints},
        {"Age", false, age}}},
      {"leases",
       {{"Name", false, name},
        {"Holder", false, plain({"spec", "holderIdentity"})},
        {"Age", false, age}}}};
}
}  // namespace

const std::vector<Column>& columns_of(const Resource& resource) {
  static const auto kColumns = make_columns();
  return kColumns.at(resource.plural);
}

}  // namespace kindlb::apiserver

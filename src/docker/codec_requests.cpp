#include "codec.hpp"
#include "kindlb/json/json.hpp"

namespace kindlb::docker {

using json::Json;

namespace {

Json mounts_of(const std::vector<VolumeMount>& volumes) {
  Json mounts = Json::array();
  for (const auto& [volume, path] : volumes)
    mounts.push_back({{"Type", "volume"}, {"Source", volume}, {"Target", path}});
  return mounts;
}

Json host_config_of(const ContainerSpec& spec) {
  // kindlb restarts its containers itself. Docker gives a container that it restarts the lowest
  // free address, which may be the one of a node that is still down.
  Json host = {{"RestartPolicy", {{"Name", "no"}}}, {"ReadonlyRootfs", spec.read_only_root},
               {"CapAdd", spec.capabilities_add},   {"CapDrop", spec.capabilities_drop},
               {"Mounts", mounts_of(spec.volumes)}, {"Sysctls", Json(Json::value_t::object)}};
  for (const auto& [name, value] : spec.sysctls) host["Sysctls"][name] = value;
  if (spec.no_new_privileges) host["SecurityOpt"] = {"no-new-privileges"};
  if (spec.init) host["Init"] = true;
  if (spec.memory_bytes > 0) host["Memory"] = spec.memory_bytes;
  if (spec.pids_limit > 0) host["PidsLimit"] = spec.pids_limit;
  if (!spec.network.empty()) host["NetworkMode"] = spec.network;
  return host;
}

/// IPAM configuration with the given subnets. Left out, the engine takes a subnet of its own pool.
Json ipam_of(const std::vector<Subnet>& subnets) {
  Json configs = Json::array();
  for (const auto& [cidr, gateway] : subnets) {
    Json config = {{"Subnet", cidr.text()}};
    if (gateway) config["Gateway"] = gateway->text();
    configs.push_back(std::move(config));
  }
  return {{"Driver", "default"}, {"Config", std::move(configs)}};
}

}  // namespace

std::string encode_container(const ContainerSpec& spec) {
  Json json = {{"Image", spec.image},
               {"Env", spec.environment},
               {"Labels", Json(spec.labels)},
               {"HostConfig", host_config_of(spec)}};
  if (!spec.command.empty()) json["Cmd"] = spec.command;
  if (!spec.user.empty()) json["User"] = spec.user;
  if (!spec.network.empty())
    json["NetworkingConfig"]["EndpointsConfig"][spec.network] = Json(Json::value_t::object);
  return json::dump(json);
}

std::string encode_network(const NetworkSpec& spec) {
  Json json = {{"Name", spec.name},
               {"Driver", "bridge"},
               {"CheckDuplicate", true},  // before API 1.44 two networks could share a name
               {"EnableIPv6", spec.enable_ipv6},
               {"Labels", Json(spec.labels)}};
  if (!spec.subnets.empty()) json["IPAM"] = ipam_of(spec.subnets);
  return json::dump(json);
}

std::string encode_volume(const Volume& volume) {
  return json::dump({{"Name", volume.name}, {"Labels", Json(volume.labels)}});
}

std::string encode_exec(const std::vector<std::string>& command, const std::string& user) {
  Json json = {{"AttachStdin", true},
               {"AttachStdout", true},
               {"AttachStderr", true},
               {"Tty", false},
               {"Cmd", command}};
  if (!user.empty()) json["User"] = user;
  return json::dump(json);
}

std::string encode_exec_start() {
  return json::dump({{"Detach", false}, {"Tty", false}});
}

std::string encode_labels(const Labels& labels) {
  return json::dump(Json(labels));
}

std::string encode_filters(const Filters& filters) {
  return json::dump(Json(filters));
}

}  // namespace kindlb::docker

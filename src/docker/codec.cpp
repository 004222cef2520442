#include "codec.hpp"

#include "json_access.hpp"
#include "kindlb/core/base64.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace kindlb::docker {

using core::Cidr;
using core::IpAddress;

namespace {

template <typename T>
std::optional<T> parsed(const std::string& text) {
  return text.empty() ? std::nullopt : T::parse(text);
}

ContainerState state_of(std::string_view text) {
  using enum ContainerState;
  static constexpr std::array<std::pair<std::string_view, ContainerState>, 7> kStates = {
      {{"created", Created},
       {"running", Running},
       {"paused", Paused},
       {"restarting", Restarting},
       {"removing", Removing},
       {"exited", Exited},
       {"dead", Dead}}};
  const auto* const found =
      std::ranges::find(kStates, text, [](auto& known) { return known.first; });
  // A state nobody has heard of is certainly not one in which it serves.
  return found == kStates.end() ? Dead : found->second;
}

std::string without_slash(std::string name) {
  if (name.starts_with('/')) name.erase(0, 1);
  return name;
}

/// Of "/name" and the "/other/alias" of links, the name.
std::string own_name(const Json& names) {
  if (!names.is_array()) return {};
  for (const Json& name : names) {
    const std::string text = without_slash(string_of(name));
    if (!text.empty() && text.find('/') == std::string::npos) return text;
  }
  return {};
}

std::vector<Attachment> attachments_of(const Json& settings) {
  std::vector<Attachment> attachments;
  const Json& networks = member(settings, "Networks");
  if (!networks.is_object()) return attachments;
  for (const auto& [name, network] : networks.items())
    attachments.push_back({.network = name,
                           .network_id = string_at(network, "NetworkID"),
                           .ipv4 = parsed<IpAddress>(string_at(network, "IPAddress")),
                           .ipv6 = parsed<IpAddress>(string_at(network, "GlobalIPv6Address"))});
  return attachments;
}

std::vector<PublishedPort> listed_ports(const Json& ports) {
  std::vector<PublishedPort> published;
  if (!ports.is_array()) return published;
  for (const Json& port : ports) {
    const auto host_port = number_at<std::uint16_t>(port, "PublicPort");
    if (host_port != 0 && string_at(port, "Type") == "tcp")
      published.push_back({.container_port = number_at<std::uint16_t>(port, "PrivatePort"),
                           .host_ip = string_at(port, "IP"),
                           .host_port = host_port});
  }
  return published;
}

std::uint16_t port_number(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  return code == std::errc{} && end == text.data() + text.size() ? port : std::uint16_t{0};
}

/// {"6443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "40001"}], "80/tcp": null}
std::vector<PublishedPort> inspected_ports(const Json& ports) {
  std::vector<PublishedPort> published;
  if (!ports.is_object()) return published;
  for (const auto& [name, bindings] : ports.items()) {
    const auto slash = name.find("/tcp");
    if (slash == std::string::npos || !bindings.is_array()) continue;
    const std::uint16_t inside = port_number(std::string_view(name).substr(0, slash));
    for (const Json& binding : bindings)
      if (const auto outside = port_number(string_at(binding, "HostPort")); outside != 0)
        published.push_back({inside, string_at(binding, "HostIp"), outside});
  }
  return published;
}

std::optional<Container> listed_container(const Json& json) {
  Container container{.id = string_at(json, "Id"),
                      .name = own_name(member(json, "Names")),
                      .image = string_at(json, "Image"),
                      .image_id = string_at(json, "ImageID"),
                      .state = state_of(string_at(json, "State")),
                      .labels = strings_at(json, "Labels"),
                      .networks = attachments_of(member(json, "NetworkSettings")),
                      .ports = listed_ports(member(json, "Ports"))};
  if (container.id.empty()) return std::nullopt;
  return container;
}

/// Some engines write an IPv6 gateway with its prefix length.
std::optional<IpAddress> gateway_of(std::string text) {
  text.erase(std::min(text.find('/'), text.size()));
  return parsed<IpAddress>(text);
}

std::vector<Subnet> subnets_of(const Json& ipam) {
  std::vector<Subnet> subnets;
  const Json& configs = member(ipam, "Config");
  if (!configs.is_array()) return subnets;
  for (const Json& config : configs)
    if (auto cidr = parsed<Cidr>(string_at(config, "Subnet")))
      subnets.push_back({*cidr, gateway_of(string_at(config, "Gateway"))});
  return subnets;
}

std::vector<NetworkMember> members_of(const Json& containers) {
  std::vector<NetworkMember> members;
  if (!containers.is_object()) return members;
  for (const auto& [id, container] : containers.items())
    members.push_back({.container_id = id,
                       .name = string_at(container, "Name"),
                       .ipv4 = parsed<Cidr>(string_at(container, "IPv4Address")),
                       .ipv6 = parsed<Cidr>(string_at(container, "IPv6Address"))});
  return members;
}

std::optional<Network> network_from(const Json& json) {
  Network network{.id = string_at(json, "Id"),
                  .name = string_at(json, "Name"),
                  .driver = string_at(json, "Driver"),
                  .labels = strings_at(json, "Labels"),
                  .subnets = subnets_of(member(json, "IPAM")),
                  .members = members_of(member(json, "Containers"))};
  if (network.id.empty() || network.name.empty()) return std::nullopt;
  return network;
}

std::optional<Image> image_from(const Json& json) {
  Image image{.id = string_at(json, "Id"), .tags = {}};
  if (image.id.empty()) return std::nullopt;
  if (const Json& tags = member(json, "RepoTags"); tags.is_array())
    for (const Json& tag : tags)
      if (tag.is_string() && string_of(tag) != "<none>:<none>")
        image.tags.push_back(string_of(tag));
  return image;
}

std::optional<Volume> volume_from(const Json& json) {
  Volume volume{.name = string_at(json, "Name"), .labels = strings_at(json, "Labels")};
  if (volume.name.empty()) return std::nullopt;
  return volume;
}

std::optional<std::string> required_string(std::string_view json, std::string_view key) {
  std::string text = string_at(parse_json(json), key);
  if (text.empty()) return std::nullopt;
  return text;
}

std::string_view trimmed_end(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::optional<EngineVersion> decode_version(std::string_view text) {
  const Json json = parse_json(text);
  const auto newest = ApiVersion::parse(string_at(json, "ApiVersion"));
  if (!newest) return std::nullopt;
  return EngineVersion{
      .version = string_at(json, "Version"),
      .os = string_at(json, "Os"),
      .newest = *newest,
      .oldest = ApiVersion::parse(string_at(json, "MinAPIVersion")).value_or(ApiVersion{})};
}

std::optional<std::vector<Container>> decode_container_list(std::string_view json) {
  return all_of(parse_json(json), listed_container);
}

std::optional<Container> decode_container(std::string_view text) {
  const Json json = parse_json(text);
  const Json& config = member(json, "Config");
  const Json& settings = member(json, "NetworkSettings");
  Container container{.id = string_at(json, "Id"),
                      .name = without_slash(string_at(json, "Name")),
                      .image = string_at(config, "Image"),
                      .image_id = string_at(json, "Image"),
                      .state = state_of(string_at(member(json, "State"), "Status")),
                      .labels = strings_at(config, "Labels"),
                      .networks = attachments_of(settings),
                      .ports = inspected_ports(member(settings, "Ports"))};
  if (container.id.empty()) return std::nullopt;
  return container;
}

std::optional<std::vector<Network>> decode_network_list(std::string_view json) {
  return all_of(parse_json(json), network_from);
}

std::optional<Network> decode_network(std::string_view json) {
  return network_from(parse_json(json));
}

std::optional<std::vector<Image>> decode_image_list(std::string_view json) {
  return all_of(parse_json(json), image_from);
}

std::optional<Image> decode_image(std::string_view json) {
  return image_from(parse_json(json));
}

std::optional<std::vector<Volume>> decode_volume_list(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object()) return std::nullopt;
  const Json& volumes = member(json, "Volumes");
  if (volumes.is_null()) return std::vector<Volume>{};  // how old engines write "none"
  return all_of(volumes, volume_from);
}

std::optional<std::string> decode_volume_name(std::string_view json) {
  return required_string(json, "Name");
}

std::optional<std::string> decode_id(std::string_view json) {
  return required_string(json, "Id");
}

std::optional<std::string> decode_link_target(std::string_view header) {
  const auto json = core::decode_base64(header);
  auto target = json ? required_string(*json, "linkTarget") : std::nullopt;
  if (!target || target->empty()) return std::nullopt;
  return target;
}

std::optional<Event> decode_event(std::string_view text) {
  const Json json = parse_json(text);
  const Json& actor = member(json, "Actor");
  Event event{.type = string_at(json, "Type"),
              .action = string_at(json, "Action"),
              .id = string_at(actor, "ID"),
              .attributes = strings_at(actor, "Attributes"),
              .time_nano = number_at<std::int64_t>(json, "timeNano")};
  if (event.type.empty() || event.action.empty()) return std::nullopt;
  return event;
}

std::string decode_message(std::string_view body) {
  std::string message = string_at(parse_json(body), "message");
  return message.empty() ? std::string(trimmed_end(body)) : message;
}

std::optional<ProgressLine> decode_progress(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object()) return std::nullopt;
  ProgressLine line{.text = string_at(json, "stream"), .error = string_at(json, "error")};
  if (line.error.empty()) line.error = string_at(member(json, "errorDetail"), "message");
  if (line.text.empty()) line.text = string_at(json, "status");
  if (const std::string layer = string_at(json, "id"); !layer.empty())
    line.text = layer + ": " + line.text;
  line.text = trimmed_end(line.text);
  return line;
}

}  // namespace kindlb::docker

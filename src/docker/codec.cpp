#include "codec.hpp"

#include "kindlb/base/number.hpp"
#include "kindlb/core/base64.hpp"
#include "kindlb/json/json.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace kindlb::docker {

using core::Cidr;
using core::IpAddress;
using json::Json;

namespace {

/// Parse an address or a CIDR. Engines write "" for one that is not assigned.
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
  // In a state we do not know the container cannot be assumed to serve.
  return found == kStates.end() ? Dead : found->second;
}

std::string without_slash(std::string name) {
  if (name.starts_with('/')) name.erase(0, 1);
  return name;
}

/// Return the container's own name. The list call mixes it with aliases of legacy links, which have
/// a second slash: "/name", "/other/alias".
std::string own_name(const Json& names) {
  for (const Json& name : names) {
    std::string text = without_slash(json::text_at(name, {}));
    if (!text.empty() && text.find('/') == std::string::npos) return text;
  }
  return {};
}

std::vector<Attachment> attachments_of(const Json& container) {
  std::vector<Attachment> attachments;
  for (const auto& [name, network] :
       json::map_at(container, {"NetworkSettings", "Networks"}).items())
    attachments.push_back(
        {.network = name,
         .network_id = json::text_at(network, {"NetworkID"}),
         .ipv4 = parsed<IpAddress>(json::text_at(network, {"IPAddress"})),
         .ipv6 = parsed<IpAddress>(json::text_at(network, {"GlobalIPv6Address"}))});
  return attachments;
}

/// Return each element decoded; nothing when `list` is no array or one element is not understood.
template <typename Decode>
auto decode_each(const Json& list, Decode decode)
    -> std::optional<std::vector<typename std::invoke_result_t<Decode, const Json&>::value_type>> {
  if (!list.is_array()) return std::nullopt;
  std::vector<typename std::invoke_result_t<Decode, const Json&>::value_type> all;
  for (const Json& element : list) {
    auto one = decode(element);
    if (!one) return std::nullopt;
    all.push_back(*std::move(one));
  }
  return all;
}

/// Return 0 for what is not a port number.
std::uint16_t port_at(const Json& object, const char* key) {
  const auto number = json::number_at(object, {key});
  return std::in_range<std::uint16_t>(number) ? static_cast<std::uint16_t>(number) : 0;
}

std::vector<PublishedPort> ports_from_list(const Json& ports) {
  std::vector<PublishedPort> published;
  for (const Json& port : ports) {
    const auto host_port = port_at(port, "PublicPort");
    if (host_port != 0 && json::text_at(port, {"Type"}) == "tcp")
      published.push_back({.container_port = port_at(port, "PrivatePort"),
                           .host_ip = json::text_at(port, {"IP"}),
                           .host_port = host_port});
  }
  return published;
}

/// Return 0 for what is not a port number.
std::uint16_t port_number(std::string_view text) {
  return base::parse_number<std::uint16_t>(text).value_or(0);
}

/// Inspecting describes ports in another shape than listing:
/// {"6443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "40001"}], "80/tcp": null}
std::vector<PublishedPort> ports_from_inspect(const Json& ports) {
  std::vector<PublishedPort> published;
  for (const auto& [name, bindings] : ports.items()) {
    const auto slash = name.find("/tcp");
    if (slash == std::string::npos || !bindings.is_array()) continue;
    const std::uint16_t inside = port_number(std::string_view(name).substr(0, slash));
    for (const Json& binding : bindings)
      if (const auto outside = port_number(json::text_at(binding, {"HostPort"})); outside != 0)
        published.push_back({inside, json::text_at(binding, {"HostIp"}), outside});
  }
  return published;
}

/// Decode an entry of the list call, which is flatter than what inspecting returns.
std::optional<Container> container_from_list(const Json& json) {
  Container container{.id = json::text_at(json, {"Id"}),
                      .name = own_name(json::list_at(json, {"Names"})),
                      .image = json::text_at(json, {"Image"}),
                      .image_id = json::text_at(json, {"ImageID"}),
                      .state = state_of(json::text_at(json, {"State"})),
                      .labels = json::text_map_at(json, {"Labels"}),
                      .networks = attachments_of(json),
                      .ports = ports_from_list(json::list_at(json, {"Ports"}))};
  if (container.id.empty()) return std::nullopt;
  return container;
}

/// Parse a gateway. Some engines write an IPv6 gateway with its prefix length.
std::optional<IpAddress> gateway_of(std::string text) {
  text.erase(std::min(text.find('/'), text.size()));
  return parsed<IpAddress>(text);
}

std::vector<Subnet> subnets_of(const Json& configs) {
  std::vector<Subnet> subnets;
  for (const Json& config : configs)
    if (auto cidr = parsed<Cidr>(json::text_at(config, {"Subnet"})))
      subnets.push_back({*cidr, gateway_of(json::text_at(config, {"Gateway"}))});
  return subnets;
}

std::vector<NetworkMember> members_of(const Json& containers) {
  std::vector<NetworkMember> members;
  for (const auto& [id, container] : containers.items())
    members.push_back({.container_id = id,
                       .name = json::text_at(container, {"Name"}),
                       .ipv4 = parsed<Cidr>(json::text_at(container, {"IPv4Address"})),
                       .ipv6 = parsed<Cidr>(json::text_at(container, {"IPv6Address"}))});
  return members;
}

std::optional<Network> network_from(const Json& json) {
  Network network{.id = json::text_at(json, {"Id"}),
                  .name = json::text_at(json, {"Name"}),
                  .driver = json::text_at(json, {"Driver"}),
                  .labels = json::text_map_at(json, {"Labels"}),
                  .subnets = subnets_of(json::list_at(json, {"IPAM", "Config"})),
                  .members = members_of(json::map_at(json, {"Containers"}))};
  if (network.id.empty() || network.name.empty()) return std::nullopt;
  return network;
}

std::optional<Image> image_from(const Json& json) {
  Image image{.id = json::text_at(json, {"Id"}), .tags = {}};
  if (image.id.empty()) return std::nullopt;
  image.tags = json::texts_at(json, {"RepoTags"});
  std::erase(image.tags, "<none>:<none>");
  return image;
}

std::optional<Volume> volume_from(const Json& json) {
  Volume volume{.name = json::text_at(json, {"Name"}),
                .labels = json::text_map_at(json, {"Labels"})};
  if (volume.name.empty()) return std::nullopt;
  return volume;
}

std::optional<std::string> required_string(std::string_view text, const char* key) {
  auto value = json::text_at(json::parse_bounded(text), {key});
  if (value.empty()) return std::nullopt;
  return value;
}

std::string_view trimmed_end(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::optional<EngineVersion> decode_version(std::string_view text) {
  const Json json = json::parse_bounded(text);
  const auto newest = ApiVersion::parse(json::text_at(json, {"ApiVersion"}));
  if (!newest) return std::nullopt;
  return EngineVersion{
      .version = json::text_at(json, {"Version"}),
      .os = json::text_at(json, {"Os"}),
      .newest = *newest,
      .oldest = ApiVersion::parse(json::text_at(json, {"MinAPIVersion"})).value_or(ApiVersion{})};
}

std::optional<std::vector<Container>> decode_container_list(std::string_view json) {
  return decode_each(json::parse_bounded(json), container_from_list);
}

// "Image" is the reference in a list entry and in Config, but the id at the top of an inspected
// container.
std::optional<Container> decode_container(std::string_view text) {
  const Json json = json::parse_bounded(text);
  Container container{.id = json::text_at(json, {"Id"}),
                      .name = without_slash(json::text_at(json, {"Name"})),
                      .image = json::text_at(json, {"Config", "Image"}),
                      .image_id = json::text_at(json, {"Image"}),
                      .state = state_of(json::text_at(json, {"State", "Status"})),
                      .labels = json::text_map_at(json, {"Config", "Labels"}),
                      .networks = attachments_of(json),
                      .ports = ports_from_inspect(json::map_at(json, {"NetworkSettings", "Ports"})),
                      .pid = json::number_at(json, {"State", "Pid"})};
  if (container.id.empty()) return std::nullopt;
  return container;
}

std::optional<std::vector<Network>> decode_network_list(std::string_view json) {
  return decode_each(json::parse_bounded(json), network_from);
}

std::optional<Network> decode_network(std::string_view json) {
  return network_from(json::parse_bounded(json));
}

std::optional<std::vector<Image>> decode_image_list(std::string_view json) {
  return decode_each(json::parse_bounded(json), image_from);
}

std::optional<Image> decode_image(std::string_view json) {
  return image_from(json::parse_bounded(json));
}

std::optional<std::vector<Volume>> decode_volume_list(std::string_view text) {
  const Json json = json::parse_bounded(text);
  if (!json.is_object()) return std::nullopt;
  const Json* const volumes = json::find(json, {"Volumes"});
  // Engines before 20.10 write null for an empty list.
  if (volumes == nullptr || volumes->is_null()) return std::vector<Volume>{};
  return decode_each(*volumes, volume_from);
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
  const Json json = json::parse_bounded(text);
  Event event{.type = json::text_at(json, {"Type"}),
              .action = json::text_at(json, {"Action"}),
              .id = json::text_at(json, {"Actor", "ID"}),
              .attributes = json::text_map_at(json, {"Actor", "Attributes"}),
              .time_nano = json::number_at(json, {"timeNano"})};
  if (event.type.empty() || event.action.empty()) return std::nullopt;
  return event;
}

std::string decode_message(std::string_view body) {
  std::string message = json::text_at(json::parse_bounded(body), {"message"});
  return message.empty() ? std::string(trimmed_end(body)) : message;
}

std::optional<ProgressLine> decode_progress(std::string_view text) {
  const Json json = json::parse_bounded(text);
  if (!json.is_object()) return std::nullopt;
  ProgressLine line{.text = json::text_at(json, {"stream"}),
                    .error = json::text_at(json, {"error"})};
  if (line.error.empty()) line.error = json::text_at(json, {"errorDetail", "message"});
  if (line.text.empty()) line.text = json::text_at(json, {"status"});
  if (const std::string layer = json::text_at(json, {"id"}); !layer.empty())
    line.text = layer + ": " + line.text;
  line.text = trimmed_end(line.text);
  return line;
}

}  // namespace kindlb::docker

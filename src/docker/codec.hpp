#pragma once
// The Engine API's JSON to our structs and back. Pure. Decoders give nothing when the text is not
// JSON or lacks what identifies the object; other members of a wrong type count as absent.

#include "api_version.hpp"
#include "kindlb/docker/engine.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::docker {

std::optional<EngineVersion> decode_version(std::string_view json);

std::optional<std::vector<Container>> decode_container_list(std::string_view json);
std::optional<Container> decode_container(std::string_view json);  ///< an inspected one

std::optional<std::vector<Network>> decode_network_list(std::string_view json);
std::optional<Network> decode_network(std::string_view json);

std::optional<std::vector<Image>> decode_image_list(std::string_view json);
std::optional<Image> decode_image(std::string_view json);

std::optional<std::vector<Volume>> decode_volume_list(std::string_view json);
std::optional<std::string> decode_volume_name(std::string_view json);

std::optional<Event> decode_event(std::string_view json);

/// "Id" of what was just created.
std::optional<std::string> decode_id(std::string_view json);
/// Of the header X-Docker-Container-Path-Stat (base64 of JSON); nothing for what is not a link.
std::optional<std::string> decode_link_target(std::string_view header);

/// The engine's own words for an error: the "message" of its JSON, or the text as it is.
std::string decode_message(std::string_view body);

/// A line of a pull or a build.
struct ProgressLine {
  std::string text;   ///< for people, may be empty
  std::string error;  ///< not empty: it failed
};
std::optional<ProgressLine> decode_progress(std::string_view json);

std::string encode_container(const ContainerSpec& spec);
std::string encode_network(const NetworkSpec& spec);
std::string encode_volume(const Volume& volume);
std::string encode_exec(const std::vector<std::string>& command, const std::string& user);
std::string encode_exec_start();
std::string encode_labels(const Labels& labels);

using Filters = std::map<std::string, std::vector<std::string>>;
std::string encode_filters(const Filters& filters);

}  // namespace kindlb::docker

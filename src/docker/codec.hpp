#pragma once
// Decodes the Engine API's JSON into our structs, and encodes requests. Decoders return nothing
// when the text is not JSON or lacks what identifies the object (its id or name). Everything else
// is lenient: engines of seven years and Docker-compatible ones differ in what they leave out, so a
// member that is absent or of a wrong type gives an empty value. Pure.

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
std::optional<std::vector<Process>> decode_processes(std::string_view json);

std::optional<std::vector<Network>> decode_network_list(std::string_view json);
std::optional<Network> decode_network(std::string_view json);

std::optional<std::vector<Image>> decode_image_list(std::string_view json);
std::optional<Image> decode_image(std::string_view json);

std::optional<std::vector<Volume>> decode_volume_list(std::string_view json);
std::optional<std::string> decode_volume_name(std::string_view json);

/// Return nothing for a line that is not an event, which callers skip.
std::optional<Event> decode_event(std::string_view json);

/// Return the "Id" of what was just created.
std::optional<std::string> decode_id(std::string_view json);
/// Return the link target in the header X-Docker-Container-Path-Stat (base64 of JSON); nothing when
/// the path is not a link.
std::optional<std::string> decode_link_target(std::string_view header);

/// Return the engine's own text of an error: the "message" of its JSON, or the body as it is.
std::string decode_message(std::string_view body);

/// One line of the progress of a pull or a build.
struct ProgressLine {
  std::string text;   ///< to show; may be empty
  std::string error;  ///< not empty: the pull or build failed
};
/// Return nothing for a line that is not JSON, which callers skip.
std::optional<ProgressLine> decode_progress(std::string_view json);

// Bodies of requests, and the values of JSON-encoded query parameters.
std::string encode_container(const ContainerSpec& spec);
std::string encode_network(const NetworkSpec& spec);
std::string encode_volume(const Volume& volume);
std::string encode_exec(const std::vector<std::string>& command, const std::string& user);
std::string encode_exec_start();
std::string encode_labels(const Labels& labels);

using Filters = std::map<std::string, std::vector<std::string>>;
std::string encode_filters(const Filters& filters);

}  // namespace kindlb::docker

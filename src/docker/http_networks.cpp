#include "codec.hpp"
#include "http_engine.hpp"
#include "kindlb/http/url.hpp"

#include <fmt/format.h>

namespace kindlb::docker {

using core::Result;

namespace {

std::string network_path(const std::string& name_or_id) {
  return "/networks/" + http::url_escaped(name_or_id);
}

/// Add the label filter. An empty list of labels filters nothing.
std::string filtered(std::string path, const std::vector<std::string>& labels) {
  return with_query(std::move(path), {{"filters", encode_filters({{"label", labels}})}});
}

}  // namespace

Result<std::vector<Network>> HttpEngine::list_networks(const std::vector<std::string>& labels) {
  return transport_.fetch(get(filtered("/networks", labels)), "list networks", decode_network_list);
}

Result<Network> HttpEngine::inspect_network(const std::string& name_or_id) {
  return transport_.fetch(get(network_path(name_or_id)), "inspect network " + name_or_id,
                          decode_network);
}

Result<std::string> HttpEngine::create_network(const NetworkSpec& spec) {
  return transport_.fetch(post("/networks/create", encode_network(spec)),
                          "create network " + spec.name, decode_id);
}

Result<void> HttpEngine::remove_network(const std::string& name_or_id) {
  return transport_.command(remove(network_path(name_or_id)), "remove network " + name_or_id);
}

Result<std::string> HttpEngine::create_volume(const Volume& volume) {
  return transport_.fetch(post("/volumes/create", encode_volume(volume)),
                          "create volume " + volume.name, decode_volume_name);
}

Result<std::vector<Volume>> HttpEngine::list_volumes(const std::vector<std::string>& labels) {
  return transport_.fetch(get(filtered("/volumes", labels)), "list volumes", decode_volume_list);
}

Result<void> HttpEngine::remove_volume(const std::string& name) {
  return transport_.command(remove("/volumes/" + http::url_escaped(name)), "remove volume " + name);
}

Result<void> HttpEngine::events(const std::function<void()>& on_open,
                                const std::function<void(const Event&)>& on_event,
                                std::stop_token stop) {
  Query query = {{"filters", encode_filters({{"type", {"container", "network"}}})}};
  // The engine sends the headers of its answer before it subscribes to its own events; what happens
  // in between would be lost. Asking for events since a moment ago closes the gap, at the price of
  // receiving up to a second of the past again. "Ago" is by the engine's clock (its Date header):
  // with Docker Desktop or a remote engine ours may differ.
  if (const auto now = transport_.engine_time()) query.emplace_back("since", std::to_string(*now));
  auto request = get(with_query("/events", query));
  request.on_open = on_open;
  const auto on_line = [&](std::string_view line) {
    if (auto event = decode_event(line)) on_event(*event);
    return true;
  };
  auto ended = transport_.lines(std::move(request), "watch engine events", on_line, stop);
  if (!ended) return ended;
  return core::Error{core::ErrorKind::Unavailable, "watch engine events",
                     "the engine ended the stream"};
}

}  // namespace kindlb::docker

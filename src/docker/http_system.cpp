#include "codec.hpp"
#include "http_engine.hpp"

namespace kindlb::docker {

using core::Result;

Result<EngineInfo> HttpSystem::info() {
  const auto engine =
      transport_.fetch(get("/version"), "get the version of Docker", decode_version);
  if (!engine) return engine.error();
  return EngineInfo{.version = engine->version, .api_version = version_.text(), .os = engine->os};
}

Result<void> HttpSystem::events(const std::function<void()>& on_open,
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

#include "app/json_indent.hpp"
#include "app/yaml_text.hpp"
#include "kindlb/app/outlook.hpp"
#include "kindlb/envoy/render.hpp"
#include "kindlb/kube/manifest.hpp"
#include "kindlb/proxy/protocol.hpp"

#include <nlohmann/json.hpp>

namespace kindlb::app {

namespace {

using Ordered = nlohmann::ordered_json;

// The document is put together from JSON texts: most of it comes as text, and reading all that only
// to write it again would take longer than to plan it.

std::string quoted(const std::string& text) {
  return Ordered(text).dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

/// "[a,b]"
template <typename Items, typename Text>
std::string list(const Items& items, const Text& text_of) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() == 1 ? "" : ",") + text_of(item);
  return out + "]";
}

std::string notes_of(const std::vector<OutlookNote>& notes) {
  return list(notes, [](const OutlookNote& note) {
    return "{\"reason\":" + quoted(note.reason) + ",\"message\":" + quoted(note.message) + "}";
  });
}

std::string envoy_of(const core::Forecast& forecast) {
  if (!forecast.config) return "{}";
  const auto rendered = envoy::render(*forecast.config, {proxy::kXdsDir, proxy::kEndpointsDir});
  const auto body = [](const auto& resource) { return resource.body; };
  return "{\"listeners\":" + list(rendered.listeners, body) +
         ",\"clusters\":" + list(rendered.clusters, body) +
         ",\"endpoints\":" + list(rendered.endpoints, body) + "}";
}

std::string item_of(const Outlook& outlook) {
  const auto& forecast = outlook.forecast;
  auto out = "{\"service\":" + quoted(outlook.service) +
             ",\"decision\":" + quoted(name_of(outlook.decision)) +
             ",\"reasons\":" + notes_of(outlook.reasons);
  if (!outlook.warnings.empty()) out += ",\"warnings\":" + notes_of(outlook.warnings);
  if (!forecast.failure.empty()) out += ",\"failure\":" + quoted(forecast.failure);
  out += ",\"status\":" + (forecast.status ? kube::encode_status(*forecast.status) : "{}");
  return out + ",\"envoy\":" + envoy_of(forecast) + "}";
}

std::string document_of(const std::vector<Outlook>& outlooks) {
  return "{\"items\":" + list(outlooks, item_of) + "}";
}

}  // namespace

std::string outlook_json(const std::vector<Outlook>& outlooks) {
  return json_indent(document_of(outlooks));
}

std::string outlook_yaml(const std::vector<Outlook>& outlooks) {
  return yaml_text(Ordered::parse(document_of(outlooks), nullptr, false));
}

}  // namespace kindlb::app

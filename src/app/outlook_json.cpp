#include "app/yaml_text.hpp"
#include "kindlb/app/outlook.hpp"
#include "kindlb/envoy/render.hpp"
#include "kindlb/kube/manifest.hpp"
#include "kindlb/proxy/protocol.hpp"

#include <nlohmann/json.hpp>

namespace kindlb::app {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered notes_of(const std::vector<OutlookNote>& notes) {
  auto out = Ordered::array();
  for (const auto& note : notes)
    out.push_back({{"reason", note.reason}, {"message", note.message}});
  return out;
}

/// Our own renderer's output: always JSON.
Ordered parsed(const std::string& text) {
  return Ordered::parse(text, nullptr, false);
}

Ordered envoy_of(const core::Forecast& forecast) {
  auto out = Ordered::object();
  if (!forecast.config) return out;
  const auto rendered = envoy::render(*forecast.config, {proxy::kXdsDir, proxy::kXdsCurrent});
  auto& listeners = out["listeners"] = Ordered::array();
  for (const auto& listener : rendered.listeners) listeners.push_back(parsed(listener.body));
  auto& clusters = out["clusters"] = Ordered::array();
  for (const auto& cluster : rendered.clusters) clusters.push_back(parsed(cluster.body));
  auto& endpoints = out["endpoints"] = Ordered::array();
  for (const auto& assignment : rendered.endpoints) endpoints.push_back(parsed(assignment.body));
  return out;
}

Ordered status_of(const core::Forecast& forecast) {
  if (!forecast.status) return Ordered::object();
  return parsed(kube::encode_status(*forecast.status));
}

Ordered item_of(const Outlook& outlook) {
  Ordered out{{"service", outlook.service},
              {"decision", name_of(outlook.decision)},
              {"reasons", notes_of(outlook.reasons)}};
  if (!outlook.warnings.empty()) out["warnings"] = notes_of(outlook.warnings);
  if (!outlook.forecast.failure.empty()) out["failure"] = outlook.forecast.failure;
  out["status"] = status_of(outlook.forecast);
  out["envoy"] = envoy_of(outlook.forecast);
  return out;
}

Ordered document_of(const std::vector<Outlook>& outlooks) {
  auto items = Ordered::array();
  for (const auto& outlook : outlooks) items.push_back(item_of(outlook));
  return {{"items", std::move(items)}};
}

}  // namespace

std::string outlook_json(const std::vector<Outlook>& outlooks) {
  return document_of(outlooks).dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

std::string outlook_yaml(const std::vector<Outlook>& outlooks) {
  return yaml_text(document_of(outlooks));
}

}  // namespace kindlb::app

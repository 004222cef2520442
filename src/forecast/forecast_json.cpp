#include "kindlb/envoy/render.hpp"
#include "kindlb/forecast/forecast.hpp"
#include "kindlb/kube/manifest.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "yaml_text.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace kindlb::forecast {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered notes_of(const std::vector<OutlookNote>& notes) {
  auto out = Ordered::array();
  for (const auto& note : notes)
    out.push_back({{"reason", note.reason}, {"message", note.message}});
  return out;
}

template <typename Resources>
Ordered bodies_of(const Resources& resources) {
  auto out = Ordered::array();
  for (const auto& resource : resources) out.push_back(Ordered::parse(resource.body));
  return out;
}

Ordered envoy_of(const core::Forecast& forecast) {
  if (!forecast.config) return Ordered::object();
  const auto rendered = envoy::render(*forecast.config, {proxy::kXdsDir, proxy::kEndpointsDir});
  return {{"listeners", bodies_of(rendered.listeners)},
          {"clusters", bodies_of(rendered.clusters)},
          {"endpoints", bodies_of(rendered.endpoints)}};
}

Ordered item_of(const Outlook& outlook) {
  const auto& forecast = outlook.forecast;
  Ordered out;
  out["service"] = outlook.service;
  out["decision"] = name_of(outlook.decision);
  out["reasons"] = notes_of(outlook.reasons);
  if (!outlook.warnings.empty()) out["warnings"] = notes_of(outlook.warnings);
  if (!forecast.failure.empty()) out["failure"] = forecast.failure;
  out["status"] =
      forecast.status ? Ordered::parse(kube::encode_status(*forecast.status)) : Ordered::object();
  out["envoy"] = envoy_of(forecast);
  return out;
}

Ordered document_of(const std::vector<Outlook>& outlooks) {
  auto items = Ordered::array();
  for (const auto& outlook : outlooks) items.push_back(item_of(outlook));
  return {{"items", std::move(items)}};
}

}  // namespace

std::string forecast_json(const std::vector<Outlook>& outlooks) {
  // A manifest's text need not be UTF-8.
  return document_of(outlooks).dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

std::string forecast_yaml(const std::vector<Outlook>& outlooks) {
  return yaml_text(document_of(outlooks));
}

}  // namespace kindlb::forecast

#include "kindlb/envoy/render.hpp"
#include "kindlb/forecast/forecast.hpp"
#include "kindlb/json/json.hpp"
#include "kindlb/kube/manifest.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "yaml_text.hpp"

#include <utility>

namespace kindlb::forecast {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered notes_of(const std::vector<ForecastNote>& notes) {
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

/// Render as for a proxy without kernel rules (Rendered::listeners): what a forecast shows must not
/// depend on the kernel.
Ordered envoy_of(const core::Prediction& prediction) {
  if (!prediction.config) return Ordered::object();
  const auto rendered =
      envoy::render(*prediction.config, {protocol::kXdsDir, protocol::kEndpointsDir});
  // Assigned one by one: an initializer list would copy them.
  Ordered out;
  out["listeners"] = bodies_of(rendered.listeners);
  out["clusters"] = bodies_of(rendered.clusters);
  out["endpoints"] = bodies_of(rendered.endpoints);
  return out;
}

Ordered item_of(const ServiceForecast& forecast) {
  const auto& prediction = forecast.prediction;
  Ordered out;
  out["service"] = forecast.service;
  out["decision"] = name_of(forecast.decision);
  out["reasons"] = notes_of(forecast.reasons);
  if (!forecast.warnings.empty()) out["warnings"] = notes_of(forecast.warnings);
  if (!prediction.failure.empty()) out["failure"] = prediction.failure;
  out["status"] = prediction.status ? Ordered::parse(kube::encode_status(*prediction.status))
                                    : Ordered::object();
  out["envoy"] = envoy_of(prediction);
  return out;
}

Ordered document_of(const std::vector<ServiceForecast>& forecasts) {
  auto items = Ordered::array();
  for (const auto& forecast : forecasts) items.push_back(item_of(forecast));
  Ordered out;
  out["items"] = std::move(items);
  return out;
}

}  // namespace

std::string forecast_json(const std::vector<ServiceForecast>& forecasts) {
  return json::dump_ordered(document_of(forecasts), 2) + "\n";
}

std::string forecast_yaml(const std::vector<ServiceForecast>& forecasts) {
  return yaml_text(document_of(forecasts));
}

}  // namespace kindlb::forecast

#pragma once
// Forecast what kindlb would do with Services that have not been applied yet: `kindlb plan`. Pure:
// no cluster, no Docker engine, and the time is an argument. The decisions are core's own
// (core::predict), so that a forecast and a running kindlb cannot disagree.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/forecast/cluster_facts.hpp"
#include "kindlb/kube/manifest.hpp"

#include <string>
#include <vector>

namespace kindlb::forecast {

enum class Decision { Serve, Degrade, Refuse, Ignore };
const char* name_of(Decision decision);  ///< "serve" | "degrade" | "refuse" | "ignore"

/// A reason or warning.
struct ForecastNote {
  std::string reason;  ///< CamelCase, as in conditions; may be empty
  std::string message;

  bool operator==(const ForecastNote&) const = default;
};

/// The forecast for one Service.
struct ServiceForecast {
  std::string service;  ///< "namespace/name"
  Decision decision = Decision::Ignore;
  std::vector<ForecastNote> reasons;   ///< why it is degraded, refused or ignored
  std::vector<ForecastNote> warnings;  ///< ignored annotations and hints
  core::Prediction prediction;
};

/// Forecast all Services, in the order of the manifests. Services whose status has an address keep
/// it and are planned first, as a running kindlb adopts before it allocates; the others are given
/// addresses in turn. Fail when facts and manifests contradict each other.
core::Result<std::vector<ServiceForecast>> forecast_services(kube::Manifests manifests,
                                                             const ClusterFacts& facts,
                                                             const core::Policy& policy,
                                                             core::Timestamp now);

/// Format for reading: a block per Service, and a summary.
std::string forecast_text(const std::vector<ServiceForecast>& forecasts);
/// Format as indented JSON: {"items": [...]}.
std::string forecast_json(const std::vector<ServiceForecast>& forecasts);
/// Format the same document as YAML.
std::string forecast_yaml(const std::vector<ServiceForecast>& forecasts);

}  // namespace kindlb::forecast

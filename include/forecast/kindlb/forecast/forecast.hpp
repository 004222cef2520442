#pragma once
// What would become of Services that nobody has applied yet: the substance of `kindlb plan`. Pure:
// no cluster, no engine, and the clock is given.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/forecast/cluster_facts.hpp"
#include "kindlb/kube/manifest.hpp"

#include <string>
#include <vector>

namespace kindlb::forecast {

enum class Decision { Serve, Degrade, Refuse, Ignore };
const char* name_of(Decision decision);  ///< "serve" | "degrade" | "refuse" | "ignore"

struct ForecastNote {
  std::string reason;  ///< one word; may be empty
  std::string message;

  bool operator==(const ForecastNote&) const = default;
};

/// Of one Service.
struct ServiceForecast {
  std::string service;  ///< "namespace/name"
  Decision decision = Decision::Ignore;
  std::vector<ForecastNote> reasons;   ///< why it is not simply served
  std::vector<ForecastNote> warnings;  ///< what people may not have meant
  core::Prediction prediction;
};

/// In the order of the manifests. Services that report an address keep it, and are settled first;
/// the others get theirs in turn, and what one gets is taken for the next. Fails when the facts and
/// the manifests do not fit together.
core::Result<std::vector<ServiceForecast>> forecast_services(kube::Manifests manifests,
                                                             const ClusterFacts& facts,
                                                             const core::Policy& policy,
                                                             core::Timestamp now);

/// For people: a block per Service, and a summary.
std::string forecast_text(const std::vector<ServiceForecast>& forecasts);
/// {"items": [...]}, indented.
std::string forecast_json(const std::vector<ServiceForecast>& forecasts);
/// The same as YAML.
std::string forecast_yaml(const std::vector<ServiceForecast>& forecasts);

}  // namespace kindlb::forecast

#pragma once
// Statuses as providers show them, for tests of the judge.

#include "kindlb/conformance/judge.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace kindlb::conformance {

inline core::Condition condition(const char* type, core::ConditionStatus status, std::string reason,
                                 int second = 0) {
  return {.type = type,
          .status = status,
          .reason = std::move(reason),
          .message = "words",
          .last_transition = core::Timestamp(std::chrono::seconds(second))};
}
inline core::Condition serving(core::ConditionStatus status, std::string reason, int second = 0) {
  return condition(core::kServingCondition, status, std::move(reason), second);
}
inline core::Condition provisioning(core::ConditionStatus status, std::string reason,
                                    int second = 0) {
  return condition(core::kProvisioningCondition, status, std::move(reason), second);
}

/// The defaults of `kindlb conformance`.
inline const Limits kLimits{.conditions = std::chrono::seconds(30),
                            .provisioning = std::chrono::seconds(600)};

inline constexpr auto kTrue = core::ConditionStatus::True;
inline constexpr auto kFalse = core::ConditionStatus::False;
inline constexpr auto kUnknown = core::ConditionStatus::Unknown;

inline ObservedStatus nothing() {
  return {};
}
inline ObservedStatus at_work() {
  return {{serving(kFalse, "Provisioning"), provisioning(kTrue, "Provisioning")}, false, true};
}
inline ObservedStatus served(int provisioned = 0, int serving_second = 0) {
  return {
      {serving(kTrue, "Serving", serving_second), provisioning(kFalse, "Complete", provisioned)},
      true,
      true};
}
inline ObservedStatus refused() {
  return {{serving(kFalse, "Unsupported"), provisioning(kFalse, "Complete")}, false, true};
}
inline ObservedStatus broken(const char* reason = "Infrastructure") {
  return {{serving(kFalse, reason), provisioning(kFalse, "Complete")}, false, true};
}
inline ObservedStatus degraded(const char* reason) {
  auto out = served();
  out.conditions.push_back(condition(core::kDegradedCondition, kTrue, reason));
  return out;
}

}  // namespace kindlb::conformance

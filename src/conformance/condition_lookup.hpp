#pragma once
// How the judge reads conditions.

#include "kindlb/conformance/judge.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace kindlb::conformance {

inline const core::Condition* find_condition(const ObservedStatus& observed,
                                             std::string_view type) {
  const auto found = std::ranges::find(observed.conditions, type, &core::Condition::type);
  return found == observed.conditions.end() ? nullptr : &*found;
}

inline bool is(const core::Condition* condition, core::ConditionStatus status) {
  return condition != nullptr && condition->status == status;
}

/// "LoadBalancerServing=False/Unsupported: only TCP"
inline std::string quote(const core::Condition& condition) {
  auto out = condition.type + "=" + core::name_of(condition.status) + "/" + condition.reason;
  return condition.message.empty() ? out : out + ": " + condition.message;
}

}  // namespace kindlb::conformance

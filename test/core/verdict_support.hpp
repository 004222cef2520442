#pragma once
// What the tests of the verdict share. Docker network and cluster have both families here.

#include "kindlb/core/verdict.hpp"
#include "support/builders.hpp"
#include "support/mentions.hpp"

namespace kindlb::test {

inline constexpr const char* kRequiredAnnotation = "kindlb.dev/required-load-balancer-features";
inline constexpr const char* kRangesAnnotation =
    "service.beta.kubernetes.io/load-balancer-source-ranges";

inline core::NetworkEnvironment dual_stack() {
  return {.families = {core::IpFamily::V4, core::IpFamily::V6}};
}

inline core::Verdict judged(const core::Service& service, const core::Policy& policy) {
  return core::evaluate(service, policy, dual_stack());
}

inline core::Verdict judged(const core::Service& service, const core::Capabilities& can = modest(),
                            bool strict = false) {
  return judged(service, core::Policy{.strict = strict, .capabilities = can});
}

}  // namespace kindlb::test

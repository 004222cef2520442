#pragma once
// What the tests of eligibility share: Services that were ours, and policies on classes.

#include "kindlb/core/eligibility.hpp"
#include "support/builders.hpp"

#include <string>

namespace kindlb::test {

inline constexpr const char* kOurClass = "kindlb.dev/envoy";

/// The mark names the uid; see ServiceBuilder::named.
inline ServiceBuilder once_ours(const std::string& uid = "uid-web") {
  return a_service()
      .with_port(80)
      .annotated(core::kObservedAnnotation, "0123." + uid)
      .with_finalizer();
}

inline core::Policy requiring_class() {
  return {.require_class = true};
}

inline core::Policy with_classes() {
  return {.classes = {"example.com/a", "example.com/b"}};
}

}  // namespace kindlb::test

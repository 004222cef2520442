#pragma once
// The part of an API server's validation without which a plan made from a manifest would be
// meaningless: names, ports, families. Not a copy of the whole validation. Pure.

#include "kindlb/core/service.hpp"

#include <optional>
#include <string>

namespace kindlb::kube {

struct ValidationError {
  std::string path;  ///< the field an API server would name: "spec.ports[0].targetPort"
  std::string message;
};

/// Return the first error of a Service as written, before defaults are filled in; nothing when an
/// API server would admit it.
std::optional<ValidationError> validate(const core::Service& service);

}  // namespace kindlb::kube

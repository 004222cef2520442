#pragma once
// What an API server would not let in. Only what would make a plan meaningless: this is no copy of
// its validation.

#include "kindlb/core/service.hpp"

#include <optional>
#include <string>

namespace kindlb::kube {

struct ValidationError {
  std::string path;  ///< the field that an API server would name
  std::string message;
};

/// Of a Service as written, before defaults.
std::optional<ValidationError> validate(const core::Service& service);

}  // namespace kindlb::kube

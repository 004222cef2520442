#pragma once
// From what a client sent to an object of the right shape: types are checked, fields nobody knows
// are left out and named, empty ones are dropped as the real server's encoder drops them.

#include "json.hpp"
#include "schema/schema.hpp"
#include "status_error.hpp"

#include <string>
#include <vector>

namespace kindlb::apiserver {

struct Decoded {
  Json value;
  std::vector<std::string> unknown;  ///< "spec.foo"
};

/// Refuses a value of the wrong type, with the field's path.
ApiResult<Decoded> decode(const Json& sent, const std::string& kind);

}  // namespace kindlb::apiserver

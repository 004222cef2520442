#pragma once
// Decodes what a client sent: checks field types, drops unknown fields and reports them, and drops
// empty values as Go's omitempty does when kube-apiserver encodes the object again.

#include "json.hpp"
#include "schema/schema.hpp"
#include "status_error.hpp"

#include <string>
#include <vector>

namespace kindlb::apiserver {

struct Decoded {
  Json value;
  std::vector<std::string> unknown;  ///< paths of unknown fields: "spec.foo"
};

/// Decode an object of `kind`. A value of the wrong type is an error that names the field's path.
ApiResult<Decoded> decode(const Json& sent, const std::string& kind);

}  // namespace kindlb::apiserver

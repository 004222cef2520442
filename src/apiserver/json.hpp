#pragma once
// The API server is about JSON: here its names need no qualification.

#include "kindlb/json/json.hpp"

namespace kindlb::apiserver {

using namespace json;  // NOLINT(google-build-using-namespace)

}  // namespace kindlb::apiserver

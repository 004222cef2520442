#pragma once
// Makes the names of the json module available unqualified: nearly every function here uses them.

#include "kindlb/json/json.hpp"

namespace kindlb::apiserver {

using namespace json;  // NOLINT(google-build-using-namespace)

}  // namespace kindlb::apiserver

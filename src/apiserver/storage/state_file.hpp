#pragma once
// Everything the API holds, as one file of JSON: written to a temporary file first and renamed, so
// that a reader sees a whole one or none.

#include "kindlb/core/result.hpp"
#include "verbs/api.hpp"

#include <string>

namespace kindlb::apiserver {

core::Result<void> save_state(const Store& store, const std::string& path);
/// A file that does not exist leaves the API as it is.
core::Result<void> load_state(Api& api, const std::string& path);

}  // namespace kindlb::apiserver

#pragma once
// The state file: all objects of the API server and its revision, as JSON. It is written to a
// temporary file and renamed, so that a crash leaves the old file or the new one, never a part.
// Allocations are not in it: load_state() derives them from the Services.

#include "kindlb/core/result.hpp"
#include "verbs/api.hpp"

#include <string>

namespace kindlb::apiserver {

core::Result<void> save_state(const Store& store, const std::string& path);
/// Replace the state of `api` by that of the file. Without a file, do nothing. Invalid: the file is
/// damaged or of another version; `api` is unchanged then.
core::Result<void> load_state(Api& api, const std::string& path);

}  // namespace kindlb::apiserver

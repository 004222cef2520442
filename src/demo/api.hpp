#pragma once
// The demo's requests to the API: no more than a user could do with kubectl.

#include "kindlb/core/embedded_file.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <span>
#include <string>

namespace kindlb::demo {

/// The files of examples/, embedded at build time.
std::span<const core::EmbeddedFile> embedded_examples();

/// Create or change the Service of a manifest in namespace default, by server-side apply; return
/// its name.
core::Result<std::string> apply_manifest(http::Client& api, const std::string& manifest,
                                         const std::string& file);
core::Result<void> merge_patch(http::Client& api, const std::string& service,
                               const std::string& json);
core::Result<void> delete_service(http::Client& api, const std::string& service);

}  // namespace kindlb::demo

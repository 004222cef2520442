#pragma once
// What the demo asks of the API: no more than a person with kubectl could.

#include "kindlb/core/embedded_file.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <span>
#include <string>

namespace kindlb::demo {

/// The files of examples/, by name.
std::span<const core::EmbeddedFile> embedded_examples();

/// Creates or changes the Service of a manifest, in namespace default; its name.
core::Result<std::string> apply_manifest(http::Client& api, const std::string& manifest,
                                         const std::string& file);
core::Result<void> merge_patch(http::Client& api, const std::string& service,
                               const std::string& json);
core::Result<void> delete_service(http::Client& api, const std::string& service);

}  // namespace kindlb::demo

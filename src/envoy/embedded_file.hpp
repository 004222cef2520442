#pragma once
// The files of envoy-templates/ as the build embedded them (cmake/embed.cmake).

#include "kindlb/core/embedded_file.hpp"

#include <span>

namespace kindlb::envoy {

std::span<const core::EmbeddedFile> embedded_templates();

}  // namespace kindlb::envoy

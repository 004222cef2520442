#pragma once
// The files of envoy-templates/ as the build embedded them (cmake/embed.cmake).

#include <span>
#include <string_view>

namespace kindlb::envoy {

struct EmbeddedFile {
  std::string_view name;  ///< "cluster.json"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_templates();

}  // namespace kindlb::envoy

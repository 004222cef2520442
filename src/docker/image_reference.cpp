#include "image_reference.hpp"

namespace kindlb::docker {

ImageReference split_reference(std::string_view reference) {
  const auto at = reference.find('@');
  const std::string_view named = reference.substr(0, at);
  // A colon before the last slash belongs to the registry's port: "host:5000/name" has no tag.
  const auto slash = named.rfind('/');
  const auto colon = named.find(':', slash == std::string_view::npos ? 0 : slash);
  ImageReference parts{std::string(named.substr(0, colon)), "latest"};
  if (colon != std::string_view::npos) parts.version = named.substr(colon + 1);
  if (at != std::string_view::npos) parts.version = reference.substr(at + 1);
  return parts;
}

}  // namespace kindlb::docker

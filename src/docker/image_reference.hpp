#pragma once
// "host:5000/repo/name:tag@sha256:..." cut into what a pull asks for. Pure.

#include <string>
#include <string_view>

namespace kindlb::docker {

struct ImageReference {
  std::string name;
  std::string version;  ///< a digest if there is one, else the tag, else "latest"
  bool operator==(const ImageReference&) const = default;
};

ImageReference split_reference(std::string_view reference);

}  // namespace kindlb::docker

#pragma once
// Splits "host:5000/repo/name:tag@sha256:..." into the two parameters of a pull. Pure.

#include <string>
#include <string_view>

namespace kindlb::docker {

struct ImageReference {
  std::string name;
  std::string version;  ///< a digest if there is one, else the tag, else "latest"
  bool operator==(const ImageReference&) const = default;
};

/// Split a reference. Does not validate it: the engine does.
ImageReference split_reference(std::string_view reference);

}  // namespace kindlb::docker

#pragma once
// A file that the build put into the program (cmake/embed.cmake).

#include <string_view>

namespace kindlb::core {

struct EmbeddedFile {
  std::string_view name;  ///< "cluster.json"
  std::string_view text;
};

}  // namespace kindlb::core

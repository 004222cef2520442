#pragma once
// The few tar records the Engine's archive endpoints need (ustar, regular files). Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::docker {

struct TarFile {
  std::string path;
  std::string content;
  unsigned mode = 0644;
};

std::string write_tar(const std::vector<TarFile>& files);
/// The regular files of an archive; nothing when it is malformed.
std::optional<std::vector<TarFile>> read_tar(std::string_view archive);

}  // namespace kindlb::docker

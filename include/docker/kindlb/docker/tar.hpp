#pragma once
// Tar archives as far as the Engine's archive endpoints and builds need them: ustar with regular
// files when writing; also pax and GNU long names when reading, since engines write these. Pure;
// malformed or hostile archives give nothing.

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

/// Return an uncompressed archive. The same files give the same bytes: owner 0, time 0.
std::string write_tar(const std::vector<TarFile>& files);
/// Return the regular files of an archive; directories, links and devices are skipped. Nothing when
/// it is malformed.
std::optional<std::vector<TarFile>> read_tar(std::string_view archive);

}  // namespace kindlb::docker

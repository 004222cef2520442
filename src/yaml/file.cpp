#include "kindlb/yaml/file.hpp"

#include "kindlb/base/errno_text.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace kindlb::yaml {

namespace {

using core::Error;
using core::ErrorKind;

/// Read in chunks, so that the limit also holds for pipes and devices, which have no size.
core::Result<std::string> read_all(std::istream& in, const std::string& path,
                                   std::size_t limit_mib) {
  std::string text;
  std::array<char, 65536> chunk{};
  while (in.read(chunk.data(), chunk.size()), in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > limit_mib << 20U)
      return Error{ErrorKind::TooLarge, path, "larger than " + std::to_string(limit_mib) + " MiB"};
  }
  return text;
}

ErrorKind kind_of_errno(int code) {
  if (code == ENOENT || code == ENOTDIR) return ErrorKind::NotFound;
  return code == EACCES || code == EPERM ? ErrorKind::Denied : ErrorKind::Invalid;
}

}  // namespace

core::Result<std::string> read_file(const std::string& path, std::size_t limit_mib) {
  if (path == "-") return read_all(std::cin, path, limit_mib);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return Error{ErrorKind::Invalid, path, "is a directory"};
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{kind_of_errno(errno), path, base::errno_text()};
  return read_all(in, path, limit_mib);
}

}  // namespace kindlb::yaml

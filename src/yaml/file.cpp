#include "kindlb/yaml/file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace kindlb::yaml {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kMaxFile = std::size_t{256} << 20U;

/// Read in chunks, so that the limit also holds for pipes and devices, which have no size.
core::Result<std::string> read_all(std::istream& in, const std::string& path) {
  std::string text;
  std::array<char, 65536> chunk{};
  while (in.read(chunk.data(), chunk.size()), in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxFile) return Error{ErrorKind::TooLarge, path, "larger than 256 MiB"};
  }
  return text;
}

}  // namespace

core::Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_all(std::cin, path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return Error{ErrorKind::Invalid, path, "is a directory"};
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const auto kind = errno == ENOENT ? ErrorKind::NotFound : ErrorKind::Denied;
    return Error{kind, path, std::strerror(errno)};  // NOLINT(concurrency-mt-unsafe)
  }
  return read_all(in, path);
}

}  // namespace kindlb::yaml

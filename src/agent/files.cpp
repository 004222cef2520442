#include "files.hpp"

#include "kindlb/base/fd.hpp"
#include "kindlb/base/number.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kindlb::agent {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;

constexpr mode_t kWorldReadable = 0644;
constexpr mode_t kOwnerOnly = 0600;
constexpr const char* kSuffix = ".json";
constexpr const char* kEndpoints = "eds";
constexpr const char* kStaging = "new";

Error failure(const char* verb, const fs::path& path) {
  const int number = errno;
  const auto kind = number == ENOENT ? ErrorKind::NotFound : ErrorKind::Unavailable;
  return {kind, std::string(verb) + " " + path.string(), describe_file_error(number)};
}

/// Remove what must not stay after a failure: half a file, which may be what fills the volume.
/// Return the failure.
Error give_up(const Error& error, const fs::path& remains) {
  ::unlink(remains.c_str());
  return error;
}

core::Result<void> write_file(const fs::path& path, std::string_view text, mode_t mode) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!file) return failure("create", path);
  ::fchmod(file.get(), mode);  // open() applies the umask
  if (!base::write_all(file.get(), text)) return failure("write", path);
  return {};
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    out.push_back(at->path());
  return out;
}

}  // namespace

std::string describe_file_error(int number) {
  std::string text = std::strerror(number);
  if (number != ENOSPC && number != EDQUOT) return text;
  return "the proxy's volume is full (" + text + "): free disk space on the Docker host";
}

core::Result<std::string> read_file(const fs::path& path, std::size_t limit) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure("open", path);
  std::string out;
  std::array<char, 65536> buffer{};
  while (true) {
    const auto size = ::read(file.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failure("read", path);
    if (size == 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(size));
    if (out.size() > limit)
      return Error{ErrorKind::TooLarge, "read " + path.string(),
                   "larger than " + std::to_string(limit) + " bytes"};
  }
}

core::Result<void> replace_file(const fs::path& path, std::string_view text, mode_t mode) {
  const fs::path temporary = path.string() + ".new";
  if (auto written = write_file(temporary, text, mode); !written)
    return give_up(written.error(), temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failure("rename", temporary);
  return {};
}

core::Result<void> replace_link(const fs::path& path, const std::optional<std::string>& target) {
  if (!target) {
    ::unlink(path.c_str());
    return {};
  }
  const fs::path temporary = path.string() + ".new";
  ::unlink(temporary.c_str());
  if (::symlink(target->c_str(), temporary.c_str()) != 0)
    return give_up(failure("link", temporary), path);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failure("rename", temporary);
  return {};
}

std::string UnitStore::file_name(const std::string& unit) {
  std::string out;
  for (const char c : unit) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    if (plain) {
      out += c;
      continue;
    }
    out += '_';
    base::append_hex(out, c);
  }
  return out + kSuffix;
}

std::vector<protocol::Unit> UnitStore::load(std::vector<std::string>& problems) const {
  std::vector<protocol::Unit> out;
  for (const auto& path : entries_of(directory_)) {
    if (path.extension() != kSuffix) continue;
    const auto text = read_file(path, protocol::kMaxLine);
    auto message = text ? protocol::decode(*text) : std::nullopt;
    auto* apply = message ? std::get_if<protocol::Apply>(&*message) : nullptr;
    if (apply == nullptr || file_name(apply->unit.unit) != path.filename() ||
        !invalid_reason(apply->unit).empty())
      problems.push_back(path.string() + ": not a valid unit");
    else
      out.push_back(std::move(apply->unit));
  }
  return out;
}

core::Result<void> UnitStore::save(const protocol::Unit& unit) const {
  std::error_code ignored;
  fs::create_directories(directory_, ignored);
  // As the Apply message it came in: one codec for both, and readable in the volume.
  protocol::Apply stored;
  stored.unit = unit;
  return replace_file(directory_ / file_name(unit.unit), protocol::encode(stored), kOwnerOnly);
}

void UnitStore::remove(const std::string& unit) const {
  ::unlink((directory_ / file_name(unit)).c_str());
}

core::Result<void> XdsFiles::prepare() const {
  std::error_code error;
  fs::remove_all(directory_ / kStaging, error);
  for (const auto* folder : {kEndpoints, kStaging}) {
    fs::create_directories(directory_ / folder, error);
    if (error)
      return Error{ErrorKind::Unavailable, "create " + directory_.string(), error.message()};
  }
  // Envoy runs as another uid and must be able to enter, whatever the umask.
  for (const auto& path : {directory_, directory_ / kEndpoints}) ::chmod(path.c_str(), 0755);
  return {};
}

/// A failure between two renames leaves some files new and some old. Renames within a directory
/// fail only if the volume is broken, and each prefix of the order is a valid configuration.
core::Result<void> XdsFiles::write(const std::vector<XdsFile>& files) const {
  const auto staged = [&](std::size_t i) { return directory_ / kStaging / std::to_string(i); };
  for (std::size_t i = 0; i < files.size(); ++i)
    if (auto written = write_file(staged(i), files[i].text, kWorldReadable); !written) {
      for (std::size_t j = 0; j <= i; ++j) ::unlink(staged(j).c_str());
      return written;
    }
  for (std::size_t i = 0; i < files.size(); ++i)
    if (::rename(staged(i).c_str(), (directory_ / files[i].name).c_str()) != 0)
      return failure("rename", directory_ / files[i].name);
  return {};
}

core::Result<void> XdsFiles::repair(const std::vector<XdsFile>& files) const {
  std::vector<XdsFile> damaged;
  for (const auto& file : files) {
    const auto text = read_file(directory_ / file.name, file.text.size());
    if (!text || *text != file.text) damaged.push_back(file);
  }
  if (damaged.empty()) return {};
  if (auto prepared = prepare(); !prepared) return prepared;
  return write(damaged);
}

void XdsFiles::prune(const XdsSnapshot& wanted) const {
  for (const auto& path : entries_of(directory_ / kEndpoints))
    if (!wanted.endpoints.contains(path.filename().string())) ::unlink(path.c_str());
}

}  // namespace kindlb::agent

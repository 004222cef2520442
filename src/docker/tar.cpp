#include "kindlb/docker/tar.hpp"

#include "kindlb/base/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace kindlb::docker {

namespace {

constexpr std::size_t kBlock = 512;

// POSIX.1-1988 ustar: where each field of the 512-byte header begins, and how long it is.
struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kUid{108, 8};
constexpr Field kGid{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 8};
constexpr Field kPrefix{345, 155};

constexpr char kRegular = '0';
constexpr char kRegularOld = '\0';
constexpr char kPax = 'x';
constexpr char kGnuLongName = 'L';

/// Return the size rounded up to whole blocks: contents are padded with zero bytes.
std::size_t padded(std::size_t size) {
  return (size + kBlock - 1) / kBlock * kBlock;
}

void put(std::string& block, Field field, std::string_view text) {
  block.replace(field.offset, std::min(text.size(), field.size), text.substr(0, field.size));
}

void put_octal(std::string& block, Field field, std::uint64_t number) {
  put(block, field, fmt::format("{:0{}o}", number, field.size - 1));
}

/// The sum of all bytes, with the checksum's own field taken as blanks.
std::uint64_t checksum_of(std::string_view block) {
  const auto add = [](std::uint64_t sum, char c) { return sum + static_cast<unsigned char>(c); };
  const auto all = std::accumulate(block.begin(), block.end(), std::uint64_t{0}, add);
  const auto own = block.substr(kChecksum.offset, kChecksum.size);
  return all - std::accumulate(own.begin(), own.end(), std::uint64_t{0}, add) +
         std::uint64_t{' '} * kChecksum.size;
}

struct SplitPath {
  std::string_view prefix;
  std::string_view name;
};

/// Split a long path at a slash into ustar's prefix and name; nothing when no split fits.
std::optional<SplitPath> split_path(std::string_view path) {
  if (path.size() <= kName.size) return SplitPath{{}, path};
  const auto slash = path.substr(0, kPrefix.size + 1).rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  const SplitPath split{path.substr(0, slash), path.substr(slash + 1)};
  if (split.name.empty() || split.name.size() > kName.size) return std::nullopt;
  return split;
}

void append_record(std::string& archive, const SplitPath& path, char type, unsigned mode,
                   std::string_view content) {
  std::string block(kBlock, '\0');
  put(block, kName, path.name);
  put(block, kPrefix, path.prefix);
  put_octal(block, kMode, mode & 07777U);
  put_octal(block, kUid, 0);
  put_octal(block, kGid, 0);
  put_octal(block, kSize, content.size());
  put_octal(block, kTime, 0);
  block[kType] = type;
  put(block, kMagic, std::string_view("ustar\00000", 8));
  put(block, kChecksum, fmt::format("{:06o}", checksum_of(block)));
  block[kChecksum.offset + 7] = ' ';  // six digits, a NUL and a blank, as every tar writes it
  archive += block;
  archive += content;
  archive.append(padded(content.size()) - content.size(), '\0');
}

/// Return the pax record "<length> path=<path>\n", where the length includes its own digits.
std::string pax_path(std::string_view path) {
  const std::string rest = fmt::format(" path={}\n", path);
  std::size_t length = rest.size();
  while (std::to_string(length).size() + rest.size() != length)
    length = std::to_string(length).size() + rest.size();
  return std::to_string(length) + rest;
}

/// Append a file, preceded by a pax header when its path fits into no ustar header.
void append_file(std::string& archive, const TarFile& file) {
  auto path = split_path(file.path);
  if (!path) {
    append_record(archive, {{}, "PaxHeader"}, kPax, 0644, pax_path(file.path));
    path = SplitPath{{}, std::string_view(file.path).substr(0, kName.size)};
  }
  append_record(archive, *path, kRegular, file.mode, file.content);
}

std::string_view text_of(std::string_view block, Field field) {
  const std::string_view all = block.substr(field.offset, field.size);
  return all.substr(0, all.find('\0'));
}

/// Parse an octal field. Writers disagree about leading blanks and about ending with NUL or blank;
/// an empty field is 0. GNU's base-256 sizes (above 8 GiB) are refused.
std::optional<std::uint64_t> octal_of(std::string_view block, Field field) {
  std::string_view digits = text_of(block, field);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find(' '));
  if (digits.empty()) return 0;
  return base::parse_number<std::uint64_t>(digits, 8);
}

/// Join prefix and name. Only POSIX archives have a prefix: old GNU ones keep other things there.
std::string path_of(std::string_view block) {
  const std::string_view prefix = text_of(block, kPrefix);
  const std::string_view name = text_of(block, kName);
  const bool posix = text_of(block, kMagic).starts_with("ustar") && !prefix.empty();
  return posix ? fmt::format("{}/{}", prefix, name) : std::string(name);
}

/// What an extended header (pax, GNU long name) says about the file that follows it.
struct Extension {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
};

bool read_pax_record(std::string_view record, Extension& into) {
  const auto equals = record.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = record.substr(0, equals);
  const std::string_view value = record.substr(equals + 1);
  if (key == "path") into.path = std::string(value);
  if (key != "size") return true;
  into.size = base::parse_number<std::uint64_t>(value);
  return into.size.has_value();
}

/// Read the records of a pax header: "<length> <key>=<value>\n", where the length covers the whole
/// record. False when malformed.
bool read_pax(std::string_view records, Extension& into) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, code] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (code != std::errc{} || length > records.size() || length < digits + 2) return false;
    if (records[digits] != ' ' || records[length - 1] != '\n') return false;
    if (!read_pax_record(records.substr(digits + 1, length - digits - 2), into)) return false;
    records.remove_prefix(length);
  }
  return true;
}

/// Reads one archive, record by record. Every size comes from outside and is checked against what
/// is left before it is used.
class Reader {
 public:
  explicit Reader(std::string_view archive) : rest_(archive) {}

  std::optional<std::vector<TarFile>> read() {
    while (!rest_.empty()) {
      if (rest_.size() < kBlock) return std::nullopt;
      const std::string_view block = rest_.substr(0, kBlock);
      if (block.find_first_not_of('\0') == std::string_view::npos) return std::move(files_);
      if (!read_record(block)) return std::nullopt;
    }
    return std::move(files_);
  }

 private:
  bool read_record(std::string_view block) {
    if (octal_of(block, kChecksum) != checksum_of(block)) return false;
    const char type = block[kType];
    const bool extends = type == kPax || type == kGnuLongName;
    const auto size = !extends && next_.size ? next_.size : octal_of(block, kSize);
    rest_.remove_prefix(kBlock);
    // Check the size before its padding: rounding a huge one up would wrap around.
    if (!size || *size > rest_.size() || padded(*size) > rest_.size()) return false;
    const std::string_view content = rest_.substr(0, *size);
    rest_.remove_prefix(padded(*size));

    if (type == kPax) return read_pax(content, next_);
    if (type == kGnuLongName) {
      next_.path = std::string(content.substr(0, content.find('\0')));
      return true;
    }
    const bool good = keep(block, type, content);
    next_ = {};
    return good;
  }

  /// Keep a regular file; directories, links and devices are skipped.
  bool keep(std::string_view block, char type, std::string_view content) {
    if (type != kRegular && type != kRegularOld) return true;
    const auto mode = octal_of(block, kMode);
    if (!mode) return false;
    files_.push_back({next_.path ? *next_.path : path_of(block), std::string(content),
                      static_cast<unsigned>(*mode & 07777U)});
    return true;
  }

  std::string_view rest_;  ///< not read yet
  Extension next_;         ///< what extended headers said about the next file
  std::vector<TarFile> files_;
};

}  // namespace

std::string write_tar(const std::vector<TarFile>& files) {
  std::string archive;
  for (const auto& file : files) append_file(archive, file);
  archive.append(2 * kBlock, '\0');
  return archive;
}

std::optional<std::vector<TarFile>> read_tar(std::string_view archive) {
  return Reader(archive).read();
}

}  // namespace kindlb::docker

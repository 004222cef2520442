#include "memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace kindlb::app {

namespace {

struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool clean_candidate = false;  ///< of a file, private, not writable
};

/// Parse the first line of an entry in /proc/self/smaps; the other lines have no address range.
std::optional<Mapping> parse_head(const std::string& line) {
  std::istringstream in(line);
  Mapping out;
  char dash = 0;
  std::string permissions;
  std::string offset;
  std::string device;
  std::string inode;
  in >> std::hex >> out.begin >> dash >> out.end >> permissions >> offset >> device >> inode;
  if (!in || dash != '-' || permissions.size() != 4) return std::nullopt;
  out.clean_candidate = permissions[1] != 'w' && permissions[3] == 'p' && inode != "0";
  return out;
}

/// Whether pages of the mapping differ from the file. Relocated data that is read-only by now
/// (RELRO) looks like any other constant, but dropping it would lose the relocations.
bool has_own_pages(const std::string& line) {
  return line.starts_with("Anonymous:") && line.find(" 0 kB") == std::string::npos;
}

}  // namespace

void limit_heap() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

void release_startup_pages() {
  malloc_trim(0);
  std::ifstream smaps("/proc/self/smaps");
  Mapping mapping;
  for (std::string line; std::getline(smaps, line);) {
    if (line.starts_with("VmFlags:") && mapping.clean_candidate)  // the last line of an entry
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells addresses as text
      madvise(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin, MADV_DONTNEED);
    else if (has_own_pages(line))
      mapping.clean_candidate = false;
    else if (const auto head = parse_head(line))
      mapping = *head;
  }
}

}  // namespace kindlb::app

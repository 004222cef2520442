#pragma once
// What the kernel says about a failed system call.

#include <cerrno>
#include <string>
#include <system_error>

namespace kindlb::base {

/// Return "No such file or directory" for ENOENT. Unlike strerror(), safe on any thread.
inline std::string errno_text(int number = errno) {
  return std::generic_category().message(number);
}

}  // namespace kindlb::base

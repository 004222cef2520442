#pragma once
// A disk that is full, for this process.

#include <sys/resource.h>

#include <doctest/doctest.h>

#include <csignal>

namespace kindlb::testing {

/// While it lives, this process can write to no file.
struct NoSpace {
  rlimit former{};

  NoSpace() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &former);
    const rlimit none{0, former.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  }
  ~NoSpace() { ::setrlimit(RLIMIT_FSIZE, &former); }
  NoSpace(const NoSpace&) = delete;
  NoSpace& operator=(const NoSpace&) = delete;
};

}  // namespace kindlb::testing

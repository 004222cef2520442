#pragma once
// Environment variables as values. Call at start-up only: getenv() races with setenv().

#include <cstdlib>
#include <string>

namespace kindlb::base {

/// Return the variable's value; empty when it is not set.
inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see above
  return value == nullptr ? std::string() : value;
}

}  // namespace kindlb::base

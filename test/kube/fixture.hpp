#pragma once
// Answers recorded from a real API server, by file name.

#include "support/paths.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace kindlb::test {

inline std::string fixture(const std::string& name) {
  std::ifstream in(test::source_dir() + "/test/kube/fixtures/" + name);
  REQUIRE_MESSAGE(in.good(), "no fixture ", name);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace kindlb::test

#pragma once
// Where this clone and its build are. Only paths.cpp is compiled with these paths, so that the
// objects of all other tests can be reused in another clone.

#include <string>
#include <string_view>

namespace kindlb::test {

/// Return the absolute path of the source tree, without a slash at the end.
std::string source_dir();

/// Return the absolute path of an executable of this build, such as "kindlb-agent". Throws
/// std::logic_error for one that test/CMakeLists.txt does not list.
std::string program(std::string_view name);

}  // namespace kindlb::test

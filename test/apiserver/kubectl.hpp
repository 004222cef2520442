#pragma once
// An unmodified kubectl against a server of the test. Each call is a child with a deadline.

#include "kindlb/apiserver/server.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace kindlb::test {

struct Said {
  int code = -1;  ///< -1: it did not end in time
  std::string text;
};

class Kubectl {
 public:
  /// Throws std::runtime_error when there is no kubectl.
  explicit Kubectl(const apiserver::Server& server);
  ~Kubectl();
  Kubectl(const Kubectl&) = delete;
  Kubectl& operator=(const Kubectl&) = delete;

  Said run(std::vector<std::string> arguments) const;
  /// Fails the test when the exit code is not 0.
  std::string must(const std::vector<std::string>& arguments) const;
  /// The path of a file with this text, to be named with -f.
  std::string file(const std::string& name, const std::string& text) const;
  const std::filesystem::path& folder() const { return folder_; }
  /// The words every call begins with.
  std::vector<std::string> words() const;

 private:
  std::filesystem::path folder_;
  std::string binary_;
};

}  // namespace kindlb::test

#pragma once
// One child process with its output in a file. It is killed and reaped on destruction, and by the
// kernel when the thread that started it ends.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace kindlb::test {

class Child {
 public:
  /// `arguments[0]` is the path of the binary. Throws std::runtime_error.
  Child(std::vector<std::string> arguments, const std::filesystem::path& log);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Reaps it when it has ended.
  bool running();

 private:
  pid_t pid_ = -1;
};

/// A port of the loopback nobody listens on at this moment.
int free_port();

}  // namespace kindlb::test

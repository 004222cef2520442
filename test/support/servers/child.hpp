#pragma once
// One child process with nothing to read and its output in a file. It is killed and reaped on
// destruction, and by the kernel when the thread that started it ends.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
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
  pid_t pid() const { return pid_; }  ///< -1: it has ended
  void signal(int number) const;
  /// Its exit code, or 128 and the signal that ended it. Nothing: it still runs.
  std::optional<int> wait(std::chrono::milliseconds limit);

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

/// A port without a listener at this moment, another one each time, below those that the kernel
/// gives to connections. Not thread-safe.
int free_port();

}  // namespace kindlb::test

#include "support/servers/child.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

namespace kindlb::test {

namespace {
/// Between fork and exec only system calls are safe: everything is prepared before.
[[noreturn]] void become(char* const* arguments, int log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);  // sockets of the test are none of its business
  execv(arguments[0], arguments);
  _exit(127);
}

bool is_free(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return bound;
}
}  // namespace

Child::Child(std::vector<std::string> arguments, const std::filesystem::path& log) {
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) throw std::runtime_error("cannot write " + log.string());
  pid_ = fork();
  if (pid_ == 0) become(pointers.data(), fd);
  close(fd);
  if (pid_ < 0) throw std::runtime_error("cannot start " + arguments.front());
}

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Child::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) return true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
  return false;
}

void Child::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

std::optional<int> Child::wait(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (running()) {
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return exit_code_;
}

int free_port() {
  constexpr unsigned kFirst = 20'000;
  constexpr unsigned kCount = 10'000;
  constexpr int kTries = 100;
  static std::set<std::uint16_t> given;
  std::random_device random;
  for (int tried = 0; tried < kTries; ++tried) {
    const auto port = static_cast<std::uint16_t>(kFirst + random() % kCount);
    if (is_free(port) && given.insert(port).second) return port;
  }
  throw std::runtime_error("no free port");
}

}  // namespace kindlb::test

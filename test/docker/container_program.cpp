// The only program of the image that docker_engine_it builds: static, so that it runs FROM scratch.
//   wait   stays until SIGTERM, as a container's first process
//   echo   says "ready" on stderr, then copies stdin to stdout
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

namespace {

int wait_for_term() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  int signal = 0;
  return sigwait(&set, &signal);
}

bool write_all(int fd, const char* bytes, ssize_t left) {
  while (left > 0) {
    const ssize_t written = write(fd, bytes, static_cast<size_t>(left));
    if (written <= 0) return false;
    bytes += written;
    left -= written;
  }
  return true;
}

int echo() {
  if (!write_all(STDERR_FILENO, "ready\n", 6)) return 1;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count <= 0) return 0;
    if (!write_all(STDOUT_FILENO, buffer.data(), count)) return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "echo") == 0) return echo();
  return wait_for_term();
}

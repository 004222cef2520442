#include "envoy/supervisor.hpp"

#include "log.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace kindlb::agent {
namespace {

constexpr std::chrono::seconds kTermGrace{2};

/// Become Envoy's user, between fork and exec. Changing from uid 0 to another drops the effective
/// and permitted capabilities; ambient ones would survive exec and are cleared. The parent-death
/// signal comes after it, since the kernel clears it when credentials change: if the agent dies,
/// its Envoy must not keep the ports of a container that is about to restart. The signal mask is
/// inherited through exec, and the agent blocks what it reads from a signalfd.
bool drop_privileges(uid_t uid) {
  if (uid != 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 ||
                   ::setresuid(uid, uid, uid) != 0))
    return false;
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  return true;
}

/// In the child. Only stderr is redirected, which is where Envoy logs. An error is written to that
/// pipe as well, so that it reaches `docker logs` the same way; 127 is the shell's status for it.
[[noreturn]] void run_child(const EnvoyCommand& command, int log_pipe) {
  auto words = command.arguments;  // a copy: execvp takes pointers to mutable text
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::dup2(log_pipe, STDERR_FILENO);
  if (drop_privileges(command.uid)) ::execvp(arguments.front(), arguments.data());
  const std::string why =
      "cannot run " + command.arguments.front() + ": " + std::strerror(errno) + "\n";
  (void)base::write_all(STDERR_FILENO, why);
  ::_exit(127);
}

}  // namespace

std::string describe_exit(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "killed by signal " + std::to_string(WTERMSIG(wait_status));
  return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
}

Supervisor::~Supervisor() {
  if (log_pipe_) loop_.unwatch(log_pipe_.get());
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void Supervisor::start() {
  if (stopping_) return;
  ++starts_;
  started_ = loop_.now();
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return exited(std::strerror(errno));
  base::Fd read_end(ends[0]);
  const base::Fd write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return exited(std::strerror(errno));
  if (pid == 0) run_child(command_, write_end.get());
  pid_ = pid;
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  log_pipe_ = std::move(read_end);
  loop_.watch(log_pipe_.get(), POLLIN, [this](short) { drain_log(); });
  events_.started();
}

void Supervisor::drain_log() {
  std::array<char, 16384> buffer{};
  while (log_pipe_) {
    const auto size = ::read(log_pipe_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;
    if (size == 0) {
      loop_.unwatch(log_pipe_.get());
      log_pipe_.reset();
      return;
    }
    for (const auto& line : log_.feed({buffer.data(), static_cast<std::size_t>(size)}))
      (void)base::write_all(STDERR_FILENO, line + "\n");
  }
}

void Supervisor::stop() {
  stopping_ = true;
  if (pid_ <= 0) return events_.exited("stopped");
  ::kill(pid_, SIGTERM);
  loop_.after(kTermGrace, [this] {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  });
}

void Supervisor::replace(const std::string& why) {
  if (pid_ <= 0 || stopping_) return;
  replaced_because_ = why;
  ::kill(pid_, SIGKILL);
}

/// The rest of the log is read before the pipe is closed: the last lines say why Envoy exited.
bool Supervisor::reaped(pid_t pid, int wait_status) {
  if (pid != pid_) return false;
  pid_ = -1;
  drain_log();
  if (log_pipe_) loop_.unwatch(log_pipe_.get());
  log_pipe_.reset();
  const auto why = std::exchange(replaced_because_, {});
  exited(why.empty() ? describe_exit(wait_status) : why);
  return true;
}

void Supervisor::exited(const std::string& how) {
  if (!stopping_) {
    log("Envoy stopped (" + how + "); restarting it");
    loop_.after(backoff_.next(loop_.now() - started_), [this] { start(); });
  }
  events_.exited(how);
}

}  // namespace kindlb::agent

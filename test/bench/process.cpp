#include "bench/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace kindlb::bench {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Process::Process(const std::vector<std::string>& arguments, std::string log)
    : log_(std::move(log)), started_(steady_clock::now()) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::ofstream(log_, std::ios::trunc).close();  // nothing of a former run is taken for this one's
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log_.c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

Process::~Process() {
  stop();
}

milliseconds Process::stop() {
  if (pid_ < 0) return {};
  const auto begin = steady_clock::now();
  kill(pid_, SIGTERM);
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (steady_clock::now() - begin > std::chrono::seconds(30)) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(milliseconds(2));
  }
  pid_ = -1;
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

long Process::resident_kb() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      long kb = 0;
      status >> kb;
      return kb;
    }
  return -1;
}

std::string Process::log_text() const {
  std::ostringstream text;
  text << std::ifstream(log_).rdbuf();
  return text.str();
}

milliseconds Process::wait_for_log(const std::string& text, std::chrono::seconds limit) const {
  while (steady_clock::now() - started_ < limit) {
    if (log_text().find(text) != std::string::npos)
      return std::chrono::duration_cast<milliseconds>(steady_clock::now() - started_);
    std::this_thread::sleep_for(milliseconds(2));
  }
  return milliseconds(-1);
}

double cpu_seconds(pid_t pid) {
  clockid_t clock = 0;
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
    throw std::runtime_error("process " + std::to_string(pid) + " has ended");
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace kindlb::bench

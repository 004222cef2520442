#include "support/traffic/load.hpp"

#include <array>

namespace kindlb::testing {

namespace {

using std::chrono::milliseconds;

/// Each opens one connection at a time: a slow answer must not lower the rate of the rest.
constexpr int kLanes = 4;
constexpr milliseconds kLimit{5'000};
constexpr milliseconds kTalkPause{20};

/// The backend's name, or nothing and `problem`.
std::string ask(const Socket& socket, const std::string& question, std::string& problem) {
  if (::send(socket.fd(), question.data(), question.size(), MSG_NOSIGNAL) < 0) {
    problem = error_text("send");
    return {};
  }
  std::string answer;
  std::array<char, 256> buffer;
  while (!answer.ends_with(question)) {
    const auto got = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      problem = got < 0 ? error_text("recv") : "closed after '" + answer + "'";
      return {};
    }
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return answer.substr(0, answer.find(' '));
}

}  // namespace

std::string LoadReport::text() const {
  std::string out = std::to_string(connections) + " connections, " + std::to_string(exchanges) +
                    " exchanges on lasting ones, " + std::to_string(failures.size()) + " failures";
  for (const auto& [backend, count] : answers) out += "; " + backend + ": " + std::to_string(count);
  for (const auto& failure : failures) out += "\n  " + failure;
  return out;
}

Load::Load(LoadOptions options) : options_(std::move(options)) {
  for (int lane = 0; lane < kLanes; ++lane)
    threads_.emplace_back([this, lane](const std::stop_token& stop) { open_some(stop, lane); });
  threads_.emplace_back([this](const std::stop_token& stop) { talk(stop); });
}

Load::~Load() = default;

/// By the clock, not by the answers: a slow answer is followed by those it held up.
void Load::open_some(const std::stop_token& stop, int lane) {
  for (std::size_t i = static_cast<std::size_t>(lane); !stop.stop_requested(); i += kLanes) {
    std::this_thread::sleep_until(
        start_ +
        std::chrono::microseconds(1'000'000 * i / static_cast<std::size_t>(options_.per_second)));
    open_one(i);
  }
}

void Load::open_one(std::size_t number) {
  const auto socket = dial(SOCK_STREAM, options_.target, kLimit);
  if (!socket) return failed("new: " + error_text("connect"));
  std::string problem;
  const auto backend = ask(socket, "new-" + std::to_string(number) + ".", problem);
  if (!problem.empty()) return failed("new: " + problem);
  answered(backend);
}

void Load::talk(const std::stop_token& stop) {
  std::vector<Socket> sockets;
  for (int i = 0; i < options_.lasting; ++i) {
    sockets.push_back(dial(SOCK_STREAM, options_.target, kLimit));
    if (!sockets.back()) failed("lasting: " + error_text("connect"));
  }
  for (std::size_t round = 0; !stop.stop_requested(); ++round) {
    for (std::size_t i = 0; i < sockets.size(); ++i)
      if (sockets[i] && !talk_on(i, sockets[i], round)) sockets[i] = Socket();
    std::this_thread::sleep_for(kTalkPause);
  }
}

bool Load::talk_on(std::size_t which, Socket& socket, std::size_t round) {
  std::string problem;
  ask(socket, "talk-" + std::to_string(which) + "-" + std::to_string(round) + ".", problem);
  if (!problem.empty()) {
    failed("lasting " + std::to_string(which) + ": " + problem);
    return false;
  }
  const std::lock_guard lock(mutex_);
  ++report_.exchanges;
  return true;
}

void Load::failed(const std::string& what) {
  const auto when = std::chrono::duration_cast<milliseconds>(Clock::now() - start_);
  const std::lock_guard lock(mutex_);
  report_.failures.push_back(std::to_string(when.count()) + " ms: " + what);
}

void Load::answered(const std::string& backend) {
  const std::lock_guard lock(mutex_);
  ++report_.connections;
  ++report_.answers[backend];
}

LoadReport Load::so_far() {
  const std::lock_guard lock(mutex_);
  return report_;
}

bool Load::go_on(std::size_t connections, milliseconds limit) {
  const auto before = so_far();
  const auto deadline = Clock::now() + limit;
  const auto lasting = static_cast<std::size_t>(options_.lasting);
  while (Clock::now() < deadline) {
    const auto now = so_far();
    if (now.connections >= before.connections + connections &&
        now.exchanges >= before.exchanges + lasting)
      return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

LoadReport Load::finish() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
  return so_far();
}

}  // namespace kindlb::testing

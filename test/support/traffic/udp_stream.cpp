#include "support/traffic/udp_stream.hpp"

#include <poll.h>

#include <stdexcept>

namespace kindlb::testing {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLastAnswers{1'000};

}  // namespace

std::string UdpReport::text() const {
  std::string out = std::to_string(sent) + " sent, " + std::to_string(answered) + " answered, " +
                    std::to_string(moves) + " moves; homes:";
  for (const auto& home : homes) out += " " + home;
  for (const auto& loss : losses) out += "\n  " + loss;
  return out;
}

UdpStream::UdpStream(UdpOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.sessions; ++i) {
    sessions_.push_back(
        {.socket = dial(SOCK_DGRAM | SOCK_NONBLOCK, options_.target, kLastAnswers)});
    if (!sessions_.back().socket) throw std::runtime_error(error_text("connect"));
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

UdpStream::~UdpStream() = default;

void UdpStream::run(const std::stop_token& stop) {
  const auto per_second = static_cast<std::size_t>(options_.per_second);
  for (std::size_t number = 0; !stop.stop_requested(); ++number) {
    const auto due = start_ + std::chrono::microseconds(1'000'000 * number / per_second);
    while (Clock::now() < due) receive(milliseconds(1));
    send(number);
    receive(milliseconds(0));
  }
  const auto deadline = Clock::now() + kLastAnswers;
  while (any_open() && Clock::now() < deadline) receive(milliseconds(5));
}

void UdpStream::send(std::size_t number) {
  const std::lock_guard lock(mutex_);
  auto& session = sessions_[number % sessions_.size()];
  const auto text = std::to_string(number);
  ++report_.sent;
  session.open.emplace(number, Clock::now());
  // What cannot be sent is lost like everything else that is not answered.
  (void)::send(session.socket.fd(), text.data(), text.size(), 0);
}

void UdpStream::receive(milliseconds patience) {
  std::vector<pollfd> polled;
  for (const auto& session : sessions_) polled.push_back({session.socket.fd(), POLLIN, 0});
  if (::poll(polled.data(), polled.size(), static_cast<int>(patience.count())) <= 0) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < polled.size(); ++i)
    if (polled[i].revents != 0) read(sessions_[i]);
}

void UdpStream::read(Session& session) {
  std::string text(256, '\0');
  while (true) {
    const auto got = ::recv(session.socket.fd(), text.data(), text.size(), 0);
    if (got <= 0) return;
    const auto answer = text.substr(0, static_cast<std::size_t>(got));
    const auto blank = answer.find(' ');
    if (session.open.erase(std::stoul(answer.substr(blank + 1))) == 0) continue;  // twice
    ++report_.answered;
    auto home = answer.substr(0, blank);
    if (!session.home.empty() && session.home != home) ++report_.moves;
    session.home = std::move(home);
  }
}

bool UdpStream::any_open() {
  const std::lock_guard lock(mutex_);
  for (const auto& session : sessions_)
    if (!session.open.empty()) return true;
  return false;
}

UdpReport UdpStream::so_far() {
  const std::lock_guard lock(mutex_);
  auto out = report_;
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    out.homes.push_back(sessions_[i].home);
    for (const auto& [number, when] : sessions_[i].open)
      out.losses.push_back(
          "session " + std::to_string(i) + ": number " + std::to_string(number) + ", sent at " +
          std::to_string(std::chrono::duration_cast<milliseconds>(when - start_).count()) + " ms");
  }
  return out;
}

bool UdpStream::go_on(std::size_t answers, milliseconds limit) {
  const auto wanted = so_far().answered + answers;
  const auto deadline = Clock::now() + limit;
  while (so_far().answered < wanted) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

UdpReport UdpStream::finish() {
  thread_ = {};
  return so_far();
}

}  // namespace kindlb::testing

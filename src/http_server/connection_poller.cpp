#include "kindlb/http_server/connection_poller.hpp"

#include "kindlb/core/assert.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kindlb::http_server {

namespace {
using namespace std::chrono_literals;
using State = Wire::Moved::State;

/// How long one who was refused may go on talking: a connection that is closed while its client
/// still sends takes the answer with it.
constexpr auto kFarewell = 2s;
constexpr std::size_t kMostIgnored = std::size_t{16} << 20U;
constexpr auto kLongestSweep = 200ms;
}  // namespace

Lobby::Lobby(const LobbyLimits& limits, std::function<void(Guest)> on_request,
             std::function<std::string(int)> refusal)
    : limits_(limits),
      on_request_(std::move(on_request)),
      refusal_(std::move(refusal)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  KINDLB_ASSERT(epoll_ >= 0 && bell_ >= 0);
  epoll_event event{.events = EPOLLIN, .data = {.fd = bell_}};
  KINDLB_ASSERT(epoll_ctl(epoll_, EPOLL_CTL_ADD, bell_, &event) == 0);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Lobby::~Lobby() {
  stop();
  close(bell_);
  close(epoll_);
}

void Lobby::admit(Guest guest) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    newcomers_.push_back(std::move(guest));
  }
  eventfd_write(bell_, 1);
}

void Lobby::stop() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    newcomers_.clear();
  }
  thread_.request_stop();
  eventfd_write(bell_, 1);
  if (thread_.joinable()) thread_.join();
  seats_.clear();
}

void Lobby::run(const std::stop_token& stop) {
  std::array<epoll_event, 64> events{};
  const auto sweep = std::clamp<std::chrono::milliseconds>(limits_.header / 4, 5ms, kLongestSweep);
  auto next_sweep = Clock::now() + sweep;
  while (!stop.stop_requested()) {
    const int count =
        epoll_wait(epoll_, events.data(), events.size(), static_cast<int>(sweep / 1ms));
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      const auto seat = seats_.find(fd);
      if (seat != seats_.end()) stir(seat);
    }
    eventfd_t rung = 0;
    if (eventfd_read(bell_, &rung) == 0) seat_newcomers();
    if (Clock::now() < next_sweep) continue;
    end_the_overdue();
    next_sweep = Clock::now() + sweep;
  }
}

void Lobby::seat_newcomers() {
  std::vector<Guest> newcomers;
  {
    const std::lock_guard lock(mutex_);
    newcomers.swap(newcomers_);
  }
  for (auto& guest : newcomers) {
    const int fd = guest.wire->fd();
    bytes_ += guest.input.size();
    const auto seat = seats_
                          .try_emplace(fd, Seat{std::move(guest), ArrivalGauge(limits_.request),
                                                Arrival::Nothing, Clock::now()})
                          .first;
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = fd}};
    const int refused = seat->second.guest.refused;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
      remove(seat);
    else if (refused != 0)
      show_out(seat, refused);
    else if (judge(seat) && seat->second.guest.been_served)
      listen_to(seat);  // its next request may have come with the last one
  }
  make_room();
}

/// Something came, if only a part of a handshake: from here on it is no longer idle.
void Lobby::stir(Seats::iterator seat) {
  auto& guest = seat->second;
  if (guest.arrival == Arrival::Nothing && !guest.leaving) {
    guest.arrival = Arrival::Header;
    guest.since = Clock::now();
  }
  listen_to(seat);
}

void Lobby::listen_to(Seats::iterator seat) {
  while (hear(seat)) {
  }
}

bool Lobby::hear(Seats::iterator seat) {
  std::array<char, 16 * 1024> chunk;
  const auto moved = seat->second.guest.wire->receive(chunk.data(), chunk.size());
  if (moved.state == State::Nothing) return false;
  if (moved.state == State::Over) {
    remove(seat);
    return false;
  }
  auto& guest = seat->second;
  if (guest.leaving) {
    guest.ignored += moved.bytes;
    if (guest.ignored <= kMostIgnored) return true;
    remove(seat);
    return false;
  }
  guest.guest.input.append(chunk.data(), moved.bytes);
  bytes_ += moved.bytes;
  return judge(seat);
}

bool Lobby::judge(Seats::iterator seat) {
  auto& [guest, gauge, arrival, since, leaving, ignored] = seat->second;
  arrival = gauge.look(guest.input);
  switch (arrival) {
    case Arrival::Nothing:
    case Arrival::Header:
    case Arrival::Body:
      if (bytes_ <= limits_.bytes) return true;
      show_out(seat, 429);
      return false;
    case Arrival::Whole: {
      epoll_ctl(epoll_, EPOLL_CTL_DEL, seat->first, nullptr);
      bytes_ -= guest.input.size();
      auto ready = std::move(guest);
      seats_.erase(seat);
      on_request_(std::move(ready));
      return false;
    }
    case Arrival::NoHttp:
      show_out(seat, 400);
      return false;
    case Arrival::HeaderTooLong:
      show_out(seat, 431);
      return false;
    case Arrival::BodyTooLong:
      show_out(seat, 413);
      return false;
  }
  return false;
}

void Lobby::show_out(Seats::iterator seat, int status) {
  auto& [guest, gauge, arrival, since, leaving, ignored] = seat->second;
  bytes_ -= guest.input.size();
  std::string().swap(guest.input);
  // Short enough for the empty buffer of a socket; who does not take it gets none.
  guest.wire->transmit(refusal_(status));
  guest.wire->finish();
  leaving = true;
  since = Clock::now();
}

void Lobby::remove(Seats::iterator seat) {
  bytes_ -= seat->second.guest.input.size();
  seats_.erase(seat);  // closing takes it out of the epoll, too
}

Lobby::Clock::time_point Lobby::deadline_of(const Seat& seat) const {
  if (seat.leaving) return seat.since + kFarewell;
  if (seat.arrival == Arrival::Nothing) return seat.since + limits_.idle;
  return seat.since + (seat.arrival == Arrival::Header ? limits_.header : limits_.whole);
}

void Lobby::end_the_overdue() {
  const auto now = Clock::now();
  for (auto next = seats_.begin(); next != seats_.end();) {
    const auto seat = next++;
    if (now < deadline_of(seat->second)) continue;
    if (seat->second.leaving || seat->second.guest.input.empty())
      remove(seat);
    else
      show_out(seat, 408);
  }
}

void Lobby::make_room() {
  while (seats_.size() > limits_.guests)
    remove(std::min_element(seats_.begin(), seats_.end(), [](const auto& a, const auto& b) {
      return a.second.since < b.second.since;
    }));
}

}  // namespace kindlb::http_server

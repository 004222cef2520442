#include "connection_poller.hpp"

#include "kindlb/core/assert.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kindlb::http_server {

namespace {
using namespace std::chrono_literals;

/// Closing a socket with unread input makes the kernel send RST, which can destroy the error
/// response before the client has read it. So a rejected client is drained first, within bounds.
constexpr auto kDrainTimeout = 2s;
constexpr std::size_t kMaxDiscarded = std::size_t{16} << 20U;
constexpr auto kMaxSweepInterval = 200ms;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
}  // namespace

ConnectionPoller::ConnectionPoller(const ConnectionLimits& limits,
                                   std::function<void(Connection)> on_request,
                                   std::function<std::string(int)> error_response)
    : limits_(limits),
      on_request_(std::move(on_request)),
      error_response_(std::move(error_response)),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      wakeup_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  KINDLB_ASSERT(epoll_fd_ && wakeup_fd_);
  epoll_event event{.events = EPOLLIN, .data = {.fd = wakeup_fd_.get()}};
  KINDLB_ASSERT(epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, wakeup_fd_.get(), &event) == 0);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ConnectionPoller::~ConnectionPoller() {
  stop();
}

void ConnectionPoller::add(Connection connection) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    added_.push_back(std::move(connection));
  }
  eventfd_write(wakeup_fd_.get(), 1);
}

void ConnectionPoller::stop() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    added_.clear();
  }
  thread_.request_stop();
  eventfd_write(wakeup_fd_.get(), 1);
  if (thread_.joinable()) thread_.join();
  pending_.clear();
}

void ConnectionPoller::run(const std::stop_token& stop) {
  std::array<epoll_event, 64> events{};
  // Deadlines are found by sweeping all connections, so a timeout may come this much late.
  const auto sweep =
      std::clamp<std::chrono::milliseconds>(limits_.header_timeout / 4, 5ms, kMaxSweepInterval);
  auto next_sweep = Clock::now() + sweep;
  while (!stop.stop_requested()) {
    const int count =
        epoll_wait(epoll_fd_.get(), events.data(), events.size(), static_cast<int>(sweep / 1ms));
    for (int i = 0; i < count; ++i) {
      // A descriptor may be absent: its connection can have been removed by an earlier event.
      const auto pending = pending_.find(events[static_cast<std::size_t>(i)].data.fd);
      if (pending != pending_.end()) on_readable(pending);
    }
    // After the events: a new connection may have the descriptor number of one closed just now, and
    // must not receive that one's event.
    eventfd_t wakeups = 0;
    if (eventfd_read(wakeup_fd_.get(), &wakeups) == 0) register_added();
    if (Clock::now() < next_sweep) continue;
    expire();
    next_sweep = Clock::now() + sweep;
  }
}

void ConnectionPoller::register_added() {
  std::vector<Connection> added;
  {
    const std::lock_guard lock(mutex_);
    added.swap(added_);
  }
  for (auto& connection : added) {
    const int fd = connection.transport->fd();
    buffered_ += connection.parser.buffered();
    const bool receiving = connection.parser.state() != ParserState::Empty;
    const auto pending =
        pending_.try_emplace(fd, Pending{std::move(connection), Clock::now(), receiving}).first;
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = fd}};
    if (epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      remove(pending);
    else if (dispatch(pending) && pending->second.connection.served_before)
      receive_all(pending);  // the TLS session may hold the next request already
  }
  evict_excess();
}

/// Start the clock of the request at the first sign of it, which may be part of a TLS handshake.
void ConnectionPoller::on_readable(PendingMap::iterator pending) {
  auto& entry = pending->second;
  if (!entry.receiving && !entry.draining) {
    entry.receiving = true;
    entry.since = Clock::now();
  }
  receive_all(pending);
}

void ConnectionPoller::receive_all(PendingMap::iterator pending) {
  while (receive_some(pending)) {
  }
}

bool ConnectionPoller::receive_some(PendingMap::iterator pending) {
  auto& entry = pending->second;
  std::array<char, std::size_t{16} << 10U> chunk;
  const auto received = entry.connection.transport->receive(chunk.data(), chunk.size());
  if (received.state == IoState::WouldBlock) return false;
  if (received.state == IoState::Closed) {
    remove(pending);
    return false;
  }
  if (entry.draining) return discard(pending, received.bytes);
  auto& parser = entry.connection.parser;
  buffered_ -= parser.buffered();
  parser.feed({chunk.data(), received.bytes});
  buffered_ += parser.buffered();
  return dispatch(pending);
}

bool ConnectionPoller::discard(PendingMap::iterator pending, std::size_t bytes) {
  pending->second.discarded += bytes;
  if (pending->second.discarded <= kMaxDiscarded) return true;
  remove(pending);
  return false;
}

bool ConnectionPoller::dispatch(PendingMap::iterator pending) {
  auto& connection = pending->second.connection;
  const auto state = connection.parser.state();
  if (state == ParserState::Complete) {
    hand_over(pending);
    return false;
  }
  if (state == ParserState::Rejected || buffered_ > limits_.buffered) {
    reject(pending, state == ParserState::Rejected ? connection.parser.error_status() : 429);
    return false;
  }
  // Like an error response, this fits into the send buffer of a client that reads.
  if (state == ParserState::Body && connection.parser.take_expectation() &&
      connection.transport->transmit(kContinue).bytes != kContinue.size()) {
    remove(pending);
    return false;
  }
  return true;
}

void ConnectionPoller::hand_over(PendingMap::iterator pending) {
  // Out of epoll first: from on_request_() on, the descriptor belongs to a worker.
  epoll_ctl(epoll_fd_.get(), EPOLL_CTL_DEL, pending->first, nullptr);
  buffered_ -= pending->second.connection.parser.buffered();
  auto ready = std::move(pending->second.connection);
  pending_.erase(pending);
  on_request_(std::move(ready));
}

void ConnectionPoller::reject(PendingMap::iterator pending, int status) {
  auto& entry = pending->second;
  buffered_ -= entry.connection.parser.buffered();
  entry.connection.parser = RequestParser(limits_.request);
  // The response fits into a socket's empty send buffer. A client that has not read its previous
  // responses loses this one: the poller never waits for a client.
  entry.connection.transport->transmit(error_response_(status));
  entry.connection.transport->finish();
  entry.draining = true;
  entry.since = Clock::now();
}

void ConnectionPoller::remove(PendingMap::iterator pending) {
  buffered_ -= pending->second.connection.parser.buffered();
  pending_.erase(pending);  // closing the descriptor removes it from epoll
}

ConnectionPoller::Clock::time_point ConnectionPoller::deadline_of(const Pending& pending) const {
  if (pending.draining) return pending.since + kDrainTimeout;
  if (!pending.receiving) return pending.since + limits_.idle;
  const bool in_body = pending.connection.parser.state() == ParserState::Body;
  return pending.since + (in_body ? limits_.request_timeout : limits_.header_timeout);
}

void ConnectionPoller::expire() {
  const auto now = Clock::now();
  for (auto next = pending_.begin(); next != pending_.end();) {
    const auto pending = next++;
    if (now < deadline_of(pending->second)) continue;
    // Without input, no request was begun that a 408 could answer.
    if (pending->second.draining || pending->second.connection.parser.state() == ParserState::Empty)
      remove(pending);
    else
      reject(pending, 408);
  }
}

void ConnectionPoller::evict_excess() {
  while (pending_.size() > limits_.connections)
    remove(std::min_element(pending_.begin(), pending_.end(), [](const auto& a, const auto& b) {
      return a.second.since < b.second.since;
    }));
}

}  // namespace kindlb::http_server

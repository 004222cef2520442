#pragma once
// Holds the connections that have no complete request, all on one epoll thread. An idle or slow
// client costs a descriptor and its buffered bytes, but no thread. Clients whose request exceeds a
// limit or cannot be parsed get an error response and are disconnected.
//
// A connection is in one of these states:
//   idle       nothing received yet; until limits.idle, then closed
//   receiving  from the first byte on; until header_timeout or request_timeout, then 408
//   draining   an error was sent and the connection half-closed; what the client still sends is
//              read and discarded, until it closes, sends too much or two seconds have passed
// and leaves the poller when it is closed or its request is complete. The worker that answers the
// request returns it with add() for the next one.

#include "kindlb/base/fd.hpp"
#include "request_parser.hpp"
#include "transport.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::http_server {

/// A client connection and what has arrived of its next request.
struct Connection {
  std::unique_ptr<Transport> transport;
  RequestParser parser;
  /// A worker has read from it, so the transport may hold bytes that epoll does not report.
  bool served_before = false;
};

class ConnectionPoller {
 public:
  /// `on_request` takes over a connection with a complete request. It is called on the poller's
  /// thread and must not block. `error_response` returns the whole response for an HTTP status.
  ConnectionPoller(const ConnectionLimits& limits, std::function<void(Connection)> on_request,
                   std::function<std::string(int)> error_response);
  ~ConnectionPoller();
  ConnectionPoller(const ConnectionPoller&) = delete;
  ConnectionPoller& operator=(const ConnectionPoller&) = delete;

  /// Thread-safe. Wait for the connection's next request.
  void add(Connection connection);
  /// Close all connections; those added later are closed at once. Not from the poller's thread.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  /// A connection that waits. Touched by the poller's thread only.
  struct Pending {
    Connection connection;
    Clock::time_point since;  ///< when the current state of the connection (see above) began
    bool receiving = false;
    bool draining = false;
    std::size_t discarded = 0;  ///< bytes read while draining
  };
  using PendingMap = std::map<int, Pending>;  ///< by file descriptor

  void run(const std::stop_token& stop);
  void register_added();
  void on_readable(PendingMap::iterator pending);
  void receive_all(PendingMap::iterator pending);
  /// Read once. Return false when there is nothing more to read or `pending` was erased.
  bool receive_some(PendingMap::iterator pending);
  /// Drop what a draining client sent. Return false as receive_some() does.
  bool discard(PendingMap::iterator pending, std::size_t bytes);
  /// Act on the state of the request: wait on, pass it to a worker, or reject it. Return false if
  /// no more of it is to be read; `pending` may be erased then.
  bool dispatch(PendingMap::iterator pending);
  /// Erase `pending` and give its connection to a worker.
  void hand_over(PendingMap::iterator pending);
  void reject(PendingMap::iterator pending, int status);
  void remove(PendingMap::iterator pending);
  void expire();
  void evict_excess();
  Clock::time_point deadline_of(const Pending& pending) const;

  const ConnectionLimits limits_;
  const std::function<void(Connection)> on_request_;
  const std::function<std::string(int)> error_response_;
  base::Fd epoll_fd_;
  base::Fd wakeup_fd_;  ///< an eventfd: interrupts epoll_wait after add() and stop()
  PendingMap pending_;
  std::size_t buffered_ = 0;  ///< by all parsers in pending_ together
  std::mutex mutex_;          ///< guards added_ and closed_, nothing else
  std::vector<Connection> added_;
  bool closed_ = false;
  std::jthread thread_;
};

}  // namespace kindlb::http_server

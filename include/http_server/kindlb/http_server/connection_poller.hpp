#pragma once
// Where connections wait, all on one thread: for their next request to arrive as a whole. So a
// client that is idle or slow costs a few bytes and no thread, and thousands of them keep nobody
// else waiting. Those who take too long or send too much are told so and shown out.

#include "kindlb/http_server/request_framer.hpp"
#include "kindlb/http_server/transport.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::http_server {

struct LobbyLimits {
  ArrivalLimits request;
  std::size_t guests = 4096;                   ///< beyond, the one that waits longest goes
  std::size_t bytes = std::size_t{64} << 20U;  ///< of unfinished requests, together
  std::chrono::milliseconds idle{60'000};      ///< between two requests
  std::chrono::milliseconds header{10'000};    ///< from its first byte to its end
  std::chrono::milliseconds whole{30'000};     ///< the same for header and body
};

/// A connection, and what was read from it already.
struct Guest {
  std::unique_ptr<Wire> wire;
  std::string input;
  int refused = 0;           ///< the status to see it off with; zero: it may stay
  bool been_served = false;  ///< its wire may hold more than the socket tells
};

class Lobby {
 public:
  /// `on_request` gets guests whose request is there; called on the lobby's thread, must not wait.
  /// `refusal`: the whole answer to one that is refused with this status.
  Lobby(const LobbyLimits& limits, std::function<void(Guest)> on_request,
        std::function<std::string(int)> refusal);
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  /// From any thread. One that is refused is only seen off.
  void admit(Guest guest);
  /// Ends every connection that waits; those that come later end at once.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Seat {
    Guest guest;
    ArrivalGauge gauge;
    Arrival arrival = Arrival::Nothing;
    Clock::time_point since;  ///< when it came; with the first byte: when that did
    bool leaving = false;     ///< has been told to go; what it still sends is not looked at
    std::size_t ignored = 0;  ///< of that
  };
  using Seats = std::map<int, Seat>;

  void run(const std::stop_token& stop);
  void seat_newcomers();
  void stir(Seats::iterator seat);
  void listen_to(Seats::iterator seat);
  /// False: it is no longer here.
  bool hear(Seats::iterator seat);
  bool judge(Seats::iterator seat);
  void show_out(Seats::iterator seat, int status);
  void remove(Seats::iterator seat);
  void end_the_overdue();
  void make_room();
  Clock::time_point deadline_of(const Seat& seat) const;

  const LobbyLimits limits_;
  const std::function<void(Guest)> on_request_;
  const std::function<std::string(int)> refusal_;
  int epoll_;
  int bell_;
  Seats seats_;
  std::size_t bytes_ = 0;
  std::mutex mutex_;
  std::vector<Guest> newcomers_;
  bool closed_ = false;
  std::jthread thread_;
};

}  // namespace kindlb::http_server

#pragma once
// Numbered datagrams at a steady rate over some sessions, and which of them were answered by whom.
// For backends of support/backend.hpp. Runs on a thread of its own until the report is asked for.

#include "support/traffic/sockets.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::testing {

struct UdpOptions {
  core::Target target;
  int sessions = 10;     ///< sockets, hence source ports
  int per_second = 500;  ///< datagrams, over all of them in turn
};

struct UdpReport {
  std::size_t sent = 0;
  std::size_t answered = 0;
  std::vector<std::string> losses;  ///< "session 3: number 12, sent at 345 ms"
  std::vector<std::string> homes;   ///< who answered each session last
  std::size_t moves = 0;            ///< how often a session's answers came from somebody new

  std::string text() const;
};

class UdpStream {
 public:
  explicit UdpStream(UdpOptions options);
  ~UdpStream();
  UdpStream(const UdpStream&) = delete;
  UdpStream& operator=(const UdpStream&) = delete;

  UdpReport so_far();
  /// Waits until that many more were answered.
  bool go_on(std::size_t answers, std::chrono::milliseconds limit = std::chrono::seconds(20));
  /// Stops sending, waits for the last answers.
  UdpReport finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Session {
    Socket socket;
    std::map<std::size_t, Clock::time_point> open;  ///< sent and not yet answered
    std::string home;
  };
  void run(const std::stop_token& stop);
  void send(std::size_t number);
  void receive(std::chrono::milliseconds patience);
  void read(Session& session);
  bool any_open();

  const UdpOptions options_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::vector<Session> sessions_;
  UdpReport report_;
  std::jthread thread_;
};

}  // namespace kindlb::testing

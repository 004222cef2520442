#pragma once
// The bytes from and to one client, never waiting. For one thread at a time. Closed with the
// object.

#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>

namespace kindlb::http_server {

/// How often whatever waits for a client looks whether it should stop.
inline constexpr std::chrono::milliseconds kStopCheck{50};

class Wire {
 public:
  struct Moved {
    enum class State { Some, Nothing, Over };
    State state = State::Over;
    std::size_t bytes = 0;
  };

  virtual ~Wire() = default;
  /// To wait for more with poll or epoll, after receive() said Nothing.
  virtual int fd() const = 0;
  virtual Moved receive(char* into, std::size_t size) = 0;
  virtual Moved transmit(std::string_view bytes) = 0;
  /// Tells the client that nothing more comes; it may still be heard.
  virtual void finish() = 0;
};

/// Takes the socket over.
std::unique_ptr<Wire> make_plain_wire(int socket);

/// All of `bytes`; false when the client is gone, takes nothing for too long, or a stop is wanted.
bool send_all(Wire& wire, std::string_view bytes, const std::stop_token& stop);

/// Whether the other side is still there, as far as can be told without asking it.
bool is_open(const Wire& wire);

}  // namespace kindlb::http_server

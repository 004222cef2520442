#pragma once
// The byte stream of one client connection, plain or TLS. No call blocks. The object owns the
// socket and closes it when destroyed. Not thread-safe: a connection belongs to the poller or to
// one worker at a time.

#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>

namespace kindlb::http_server {

/// How long a loop that waits for a client may sleep before it checks its stop token.
inline constexpr std::chrono::milliseconds kStopCheck{50};

enum class IoState {
  Transferred,
  WouldBlock,  ///< also while a TLS handshake is incomplete
  Closed,      ///< by the client, or broken
};

class Transport {
 public:
  struct IoResult {
    IoState state = IoState::Closed;
    std::size_t bytes = 0;
  };

  virtual ~Transport() = default;
  /// For poll and epoll. Readiness means something only after receive() returned WouldBlock: a TLS
  /// session may hold decrypted bytes that the socket knows nothing of.
  virtual int fd() const = 0;
  virtual IoResult receive(char* into, std::size_t size) = 0;
  virtual IoResult transmit(std::string_view bytes) = 0;
  /// Half-close: the client sees the end of the response, and can still be read from.
  virtual void finish() = 0;
};

/// Take ownership of an accepted socket.
std::unique_ptr<Transport> make_plain_transport(int socket);

/// Send all of `bytes`, waiting for the client. Return false when it disconnects, reads nothing for
/// 10 seconds or not all within 60 seconds, or when `stop` is requested.
bool send_all(Transport& transport, std::string_view bytes, const std::stop_token& stop);

/// Return false once the client has closed its side of the connection.
bool is_open(const Transport& transport);

}  // namespace kindlb::http_server

#pragma once
// What a client of an HttpListener may use up. A client that exceeds a limit gets an HTTP error and
// is disconnected; the other clients do not notice.

#include <chrono>
#include <cstddef>

namespace kindlb::http_server {

struct RequestLimits {
  std::size_t header = std::size_t{64} << 10U;  ///< bytes, beyond: 431; at most 64 KiB
  std::size_t fields = 256;                     ///< of the header, beyond: 431
  std::size_t target = 8192;                    ///< bytes, beyond: 414
  std::size_t body = std::size_t{3} << 20U;     ///< bytes, beyond: 413
};

struct ConnectionLimits {
  RequestLimits request;
  /// Connections without a complete request. Beyond, the one that waits longest is closed: it is
  /// most likely an idle keep-alive connection, which any client reopens.
  std::size_t connections = 4096;
  /// Bytes of incomplete requests of all connections together, beyond: 429.
  std::size_t buffered = std::size_t{64} << 20U;
  std::chrono::milliseconds idle{60'000};  ///< between two requests; closed without a word
  std::chrono::milliseconds header_timeout{10'000};   ///< first byte to end of header, beyond: 408
  std::chrono::milliseconds request_timeout{30'000};  ///< first byte to end of body, beyond: 408
};

}  // namespace kindlb::http_server

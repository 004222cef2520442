#pragma once
// Finds the end of an HTTP/1.1 request in the bytes received so far, so that a worker thread is
// occupied only by a request that is complete. Checks sizes, not validity: the HTTP library parses
// the request afterwards. Pure.

#include "kindlb/http_server/limits.hpp"

#include <cstddef>
#include <string_view>

namespace kindlb::http_server {

enum class RequestState {
  Empty,
  Header,          ///< the header is incomplete
  Body,            ///< the header is complete, the body is not
  Complete,        ///< or its length is unknown: see parse_header()
  NotHttp,         ///< does not begin with a method: 400
  HeaderTooLarge,  ///< 431
  BodyTooLarge,    ///< 413
};

/// Frames one request. Remembers how far it has searched: a request that arrives in a thousand
/// pieces is scanned once, not a thousand times.
class RequestFramer {
 public:
  explicit RequestFramer(const RequestLimits& limits) : limits_(limits) {}
  /// `input`: everything received since the end of the previous request. It may only grow from call
  /// to call.
  RequestState update(std::string_view input);

 private:
  RequestState parse_header(std::string_view header);

  RequestLimits limits_;
  std::size_t searched_ = 0;  ///< no end of the header begins before this offset
  std::size_t needed_ = 0;    ///< bytes of header and body; zero: the header is incomplete
};

}  // namespace kindlb::http_server

#pragma once
// How much of a request has come: enough to be worked on, or too much to be taken. Says nothing of
// whether it is any good. Pure.

#include <cstddef>
#include <string_view>

namespace kindlb::http_server {

struct ArrivalLimits {
  std::size_t header = std::size_t{64} << 10U;
  std::size_t body = std::size_t{3} << 20U;
};

enum class Arrival {
  Nothing,
  Header,         ///< not all of it
  Body,           ///< the header, but not all of the body
  Whole,          ///< or as much as can be known: a body without a length is for the reader
  NoHttp,         ///< begins as no request does
  HeaderTooLong,  ///< 431
  BodyTooLong,    ///< 413
};

/// Remembers how far it looked, so that a request in a thousand pieces is read once.
class ArrivalGauge {
 public:
  explicit ArrivalGauge(const ArrivalLimits& limits) : limits_(limits) {}
  /// `input`: everything that came since the last request; grows from call to call.
  Arrival look(std::string_view input);

 private:
  Arrival look_at_header(std::string_view header);

  ArrivalLimits limits_;
  std::size_t searched_ = 0;
  std::size_t needed_ = 0;  ///< header and body; zero: not known yet
};

}  // namespace kindlb::http_server

#pragma once
// Docker's multiplexed attach format (8-byte header per frame) taken apart. Pure, incremental, and
// strict: a frame of an unknown stream or beyond the limit is refused. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace kindlb::docker {

enum class StdStream { Out = 1, Err = 2 };

class StreamDemux {
 public:
  /// Calls `sink` with each piece of payload. False: the bytes are not this format.
  bool feed(std::string_view chunk, const std::function<void(StdStream, std::string_view)>& sink);

 private:
  std::uint8_t header_[8] = {};
  std::size_t header_filled_ = 0;
  std::size_t payload_left_ = 0;
  StdStream stream_ = StdStream::Out;
};

}  // namespace kindlb::docker

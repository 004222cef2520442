#pragma once
// Takes apart Docker's multiplexed attach format, used when a container or exec has no tty. Each
// frame is a header of eight bytes {stream, 0, 0, 0, size in big-endian} and `size` bytes of what
// the process printed. Incremental: headers and payloads may be split anywhere. Strict: a frame of
// an unknown stream, with non-zero padding or above 16 MiB is refused, since it means that the
// bytes are not this format (a tty's, or an HTTP error). Pure; not thread-safe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace kindlb::docker {

enum class StdStream { Out = 1, Err = 2 };

class StreamDemux {
 public:
  /// Call `sink` with each piece of payload as it arrives; pieces do not follow lines or frames.
  /// False: the bytes are not this format; every later call returns false too.
  bool feed(std::string_view chunk, const std::function<void(StdStream, std::string_view)>& sink);

 private:
  std::uint8_t header_[8] = {};
  std::size_t header_filled_ = 0;      ///< bytes of the header that have arrived
  std::size_t payload_left_ = 0;       ///< of the current frame; 0: a header comes next
  StdStream stream_ = StdStream::Out;  ///< of the current frame
};

}  // namespace kindlb::docker

#include "kindlb/docker/stream_demux.hpp"

#include <algorithm>

namespace kindlb::docker {

namespace {

// Engines split output into frames of at most 32 KiB; a far larger size means another format.
constexpr std::size_t kMaxFrame = std::size_t{16} << 20U;

/// Stream 0 is stdin, which an engine echoes nowhere: only stdout and stderr are valid.
bool is_frame_header(const std::uint8_t (&header)[8]) {
  const bool known = header[0] == 1 || header[0] == 2;
  return known && header[1] == 0 && header[2] == 0 && header[3] == 0;
}

std::size_t frame_size(const std::uint8_t (&header)[8]) {
  std::size_t size = 0;
  for (std::size_t i = 4; i < 8; ++i) size = size << 8U | header[i];
  return size;
}

}  // namespace

// Two states: inside a payload (payload_left_ > 0), or collecting a header. A frame of size 0 goes
// straight from one header to the next.
bool StreamDemux::feed(std::string_view chunk,
                       const std::function<void(StdStream, std::string_view)>& sink) {
  while (!chunk.empty()) {
    if (payload_left_ > 0) {
      const std::string_view piece = chunk.substr(0, payload_left_);
      sink(stream_, piece);
      payload_left_ -= piece.size();
      chunk.remove_prefix(piece.size());
      continue;
    }
    // A header that was refused stays in place, so that everything after it is refused too: there
    // is no way to find the next frame.
    while (header_filled_ < sizeof(header_) && !chunk.empty()) {
      header_[header_filled_++] = static_cast<std::uint8_t>(chunk.front());
      chunk.remove_prefix(1);
    }
    if (header_filled_ < sizeof(header_)) return true;
    if (!is_frame_header(header_) || frame_size(header_) > kMaxFrame) return false;
    stream_ = header_[0] == 1 ? StdStream::Out : StdStream::Err;
    payload_left_ = frame_size(header_);
    header_filled_ = 0;
  }
  return true;
}

}  // namespace kindlb::docker

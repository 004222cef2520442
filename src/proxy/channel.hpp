#pragma once
// One agent's channel, as ChannelHub keeps it. Reading happens on the hub's thread only; what other
// threads touch (the outbound bytes) is guarded by the hub.

#include "kindlb/core/line_splitter.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/docker/stream_demux.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::proxy {

class Channel {
 public:
  using OnMessage = std::function<void(protocol::Message)>;

  Channel(std::string proxy, std::uint64_t number, docker::ExecStream stream)
      : proxy_(std::move(proxy)), number_(number), stream_(std::move(stream)) {}

  const std::string& proxy() const { return proxy_; }
  std::uint64_t number() const { return number_; }
  int fd() const { return stream_->fd(); }

  /// Reads all there is. Why the channel is of no more use, if so.
  std::optional<std::string> receive(const OnMessage& on_message);
  /// Hands `bytes` to the kernel; to be called when the stream is writable, with few bytes.
  std::optional<std::string> transmit(std::string_view bytes);

  /// Set by any thread; messages of an abandoned channel are not delivered.
  std::atomic<bool> abandoned = false;
  std::string outbound;  ///< guarded by the hub

 private:
  std::optional<std::string> demultiplex(std::string_view chunk, const OnMessage& on_message);
  bool handle_line(std::string_view line, const OnMessage& on_message);
  void append_stderr(std::string_view text);
  std::string with_stderr(const std::string& reason) const;

  const std::string proxy_;
  const std::uint64_t number_;
  const docker::ExecStream stream_;
  docker::StreamDemux demux_;
  core::LineSplitter lines_{protocol::kMaxLine};
  std::string stderr_;
};

}  // namespace kindlb::proxy

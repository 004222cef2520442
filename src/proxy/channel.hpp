#pragma once
// One agent's channel: the stream of `kindlb-agent connect`, run by the engine in the container.
// Its stdout carries messages; its stderr explains why it ended, and is kept for the report.
//
// Owned by ChannelHub. Reading and writing happen on the hub's thread only; `outbound` is guarded
// by the hub's mutex, and `abandoned` may be set by any thread.

#include "kindlb/core/line_splitter.hpp"
#include "kindlb/docker/execs.hpp"
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

  /// Read all that is available. Return why the channel is broken, if it is.
  std::optional<std::string> receive(const OnMessage& on_message);
  /// Write `bytes`; to be called when the stream is writable, with few bytes. Return why the
  /// channel is broken, if it is.
  std::optional<std::string> transmit(std::string_view bytes);

  /// Once set, no further message of this channel is delivered.
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

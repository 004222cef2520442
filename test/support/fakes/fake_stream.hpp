#pragma once
// An exec's attached streams over a socket pair: kindlb's end is an ExecStream as the engine gives
// it, the other end plays the process. For channel tests and for agents played in process.

#include "kindlb/docker/execs.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::testing {

/// The process' end. Thread-safe as far as sockets are: one reader, one writer. Closed on
/// destruction, which kindlb's end sees as the end of the stream.
class ProcessEnd {
 public:
  explicit ProcessEnd(int fd) : fd_(fd) {}
  ~ProcessEnd();
  ProcessEnd(const ProcessEnd&) = delete;
  ProcessEnd& operator=(const ProcessEnd&) = delete;

  /// In one frame of Docker's multiplexed format. False: kindlb's end is closed.
  bool print(std::string_view text);
  bool print_error(std::string_view text);
  bool send_raw(std::string_view bytes);
  /// The next line kindlb wrote, without its newline; nothing at the end of the stream or after
  /// `timeout`.
  std::optional<std::string> read_line(std::chrono::milliseconds timeout = std::chrono::seconds(5));
  /// True once kindlb's end is closed, within `timeout`.
  bool closed(std::chrono::milliseconds timeout = std::chrono::seconds(5));
  /// The kernel's buffers, so that a test need not write megabytes to fill them.
  void shrink_buffers();

 private:
  bool send_frame(char stream, std::string_view text);
  bool fill(std::chrono::steady_clock::time_point deadline);

  int fd_;
  std::string pending_;
};

struct StreamPair {
  docker::ExecStream stream;
  std::shared_ptr<ProcessEnd> process;
};

StreamPair make_stream_pair();

}  // namespace kindlb::testing

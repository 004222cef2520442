#pragma once
// Processes started inside running containers. See engine.hpp for what holds for all calls.

#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <memory>
#include <string>
#include <vector>

namespace kindlb::docker {

/// The attached streams of an exec, on a hijacked connection. What is read is multiplexed (stdout
/// and stderr in frames): pass it through StreamDemux. What is written goes to the process's stdin
/// as it is. Closing the stream closes stdin; it does not kill the process.
using ExecStream = std::unique_ptr<http::Duplex>;

/// Thread-safe; lives as long as its Engine.
class Execs {
 public:
  virtual ~Execs() = default;

  /// Start `command` inside a running container with stdin, stdout and stderr attached, no tty. A
  /// command that cannot be started is not an error of this call: the engine has taken over the
  /// connection by then and writes its message into the stream, then closes it.
  virtual core::Result<ExecStream> start(const std::string& id,
                                         const std::vector<std::string>& command,
                                         const std::string& user) = 0;
};

}  // namespace kindlb::docker

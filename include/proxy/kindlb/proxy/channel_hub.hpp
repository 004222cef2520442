#pragma once
// The channels to all agents, served by one thread with epoll: a thread per proxy would cost more
// memory than everything else. Splits Docker's frames and our lines, decodes them and hands
// messages on, in the order of each channel. It does not reconnect and knows nothing of what
// messages mean.
//
// Threads: all methods may be called from any thread, also from within the callbacks. Callbacks run
// on the hub's thread, one at a time, and must not block; none runs after the destructor returned.
//
// Invariant: a proxy has at most one channel. open() replaces the former one, whose messages are no
// longer delivered, so that an answer never arrives on behalf of a channel that was given up.

#include "kindlb/docker/execs.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace kindlb::proxy {

class ChannelHub {
 public:
  struct Callbacks {
    std::function<void(const std::string& proxy, protocol::Message message)> on_message;
    /// The stream ended or broke, with what the process wrote to stderr, if anything. Not called
    /// for a channel that was closed by close() or replaced by open().
    std::function<void(const std::string& proxy, const std::string& reason)> on_closed;
  };

  /// Unsent bytes of one channel beyond which send() refuses. An empty queue takes any message, so
  /// that one larger than this can still be sent.
  static constexpr std::size_t kMaxQueued = std::size_t{4} << 20U;

  explicit ChannelHub(Callbacks callbacks);
  ~ChannelHub();
  ChannelHub(const ChannelHub&) = delete;
  ChannelHub& operator=(const ChannelHub&) = delete;

  /// Serve this stream from now on, in place of a former one of that proxy.
  void open(const std::string& proxy, docker::ExecStream stream);
  /// Queue a message; never waits for the agent. False: there is no channel, or its agent has
  /// stopped reading and the queue is full. A queued message may still be lost: on_closed follows.
  bool send(const std::string& proxy, const protocol::Message& message);
  /// Close the channel. A message that is being delivered at this moment may still arrive.
  void close(const std::string& proxy);
  bool is_open(const std::string& proxy) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kindlb::proxy

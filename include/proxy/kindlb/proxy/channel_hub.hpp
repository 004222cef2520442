#pragma once
// The channels to all agents, served by one thread: a thread per proxy would cost more memory than
// everything else. Takes Docker's frames and our lines apart, decodes, and hands messages on. It
// does not reconnect and knows nothing of what the messages mean.
//
// All methods may be called from any thread, also from within the callbacks. Callbacks run on the
// hub's thread, never at once, and must not block; none runs after the destructor has returned.

#include "kindlb/docker/engine.hpp"
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

  /// Unsent bytes of one channel beyond which send() refuses.
  static constexpr std::size_t kMaxQueued = std::size_t{4} << 20U;

  explicit ChannelHub(Callbacks callbacks);
  ~ChannelHub();
  ChannelHub(const ChannelHub&) = delete;
  ChannelHub& operator=(const ChannelHub&) = delete;

  /// Takes the stream over, in place of a former one of that proxy.
  void open(const std::string& proxy, docker::ExecStream stream);
  /// Queues; never waits for the agent. False: no channel, or its agent has stopped reading and the
  /// queue is full. A queued message may still be lost: on_closed then follows.
  bool send(const std::string& proxy, const protocol::Message& message);
  /// A message that is being delivered right now may still arrive.
  void close(const std::string& proxy);
  bool is_open(const std::string& proxy) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kindlb::proxy

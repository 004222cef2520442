#pragma once
// The agent's control socket: a unix-domain socket in the state directory, on which clients (relays
// of `kindlb-agent connect`) send lines and receive messages. It frames and buffers; what a line
// means is the agent's business. Several clients may be connected, since a restarted kindlb
// connects before the relay of the old one has noticed. While any is connected, each gets a
// Heartbeat every protocol::kHeartbeatInterval.
//
// Limits: 16 clients, lines of protocol::kMaxLine, 32 MiB of unsent messages per client; a client
// beyond them is dropped, since its memory is the container's. Access is root's alone, by file
// mode. Runs on the loop, which must outlive it; not thread-safe.

#include "kindlb/base/fd.hpp"
#include "kindlb/core/line_splitter.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace kindlb::agent {

using ClientId = std::uint64_t;

class ControlServer {
 public:
  struct Events {
    std::function<void(ClientId)> connected;
    std::function<void(ClientId, std::string_view line)> line;
    /// A line beyond the limit. What the callee sends is delivered, then the client is dropped.
    std::function<void(ClientId)> overflowed;
  };

  ControlServer(Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Listen at the path, with mode 0600. A socket left there by a former run is replaced.
  core::Result<void> listen(const std::string& path);
  /// Queue a message and send what the socket takes. May drop the client; nothing happens if it is
  /// gone already.
  void send(ClientId client, const protocol::Message& message);
  void send_to_all(const protocol::Message& message);

 private:
  struct Client {
    base::Fd socket;
    core::LineSplitter splitter{protocol::kMaxLine};
    std::string unsent;
    bool closing = false;  ///< close once everything is sent
  };

  void accept();
  void ready(ClientId id, short revents);
  void receive(ClientId id, Client& client);
  void flush(ClientId id, Client& client);
  void watch(ClientId id, Client& client);
  void drop(ClientId id);
  void schedule_heartbeat();
  void send_heartbeats();

  Loop& loop_;
  Events events_;
  base::Fd listener_;
  std::map<ClientId, Client> clients_;
  ClientId last_client_ = 0;
  Loop::TimerId heartbeat_ = 0;  ///< set while anybody is connected
};

}  // namespace kindlb::agent

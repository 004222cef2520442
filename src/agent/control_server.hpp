#pragma once
// The agent's unix socket: clients come and go, lines come in, messages go out. Knows nothing of
// what they mean. Runs on the loop; not thread-safe.

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
    /// A line beyond the limit. The client is closed after this.
    std::function<void(ClientId)> overflowed;
  };

  ControlServer(Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Listens at the path, for root only; a left-over socket there is replaced.
  core::Result<void> listen(const std::string& path);
  /// Nothing happens if the client has gone.
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

  Loop& loop_;
  Events events_;
  base::Fd listener_;
  std::map<ClientId, Client> clients_;
  ClientId last_client_ = 0;
};

}  // namespace kindlb::agent

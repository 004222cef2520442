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

class Control {
 public:
  struct Events {
    std::function<void(ClientId)> connected;
    std::function<void(ClientId, std::string_view line)> line;
    /// A line beyond the limit. The client is closed after this.
    std::function<void(ClientId)> overflowed;
  };

  Control(Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

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

/// `kindlb-agent connect`: bridges standard input and output to the agent's socket until the agent
/// closes it; the end of standard input is passed on. Returns the exit code.
int bridge(const std::string& path);

}  // namespace kindlb::agent

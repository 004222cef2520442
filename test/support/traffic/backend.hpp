#pragma once
// A backend with a name: what it receives it gives back with the name before it, over TCP and UDP
// on one port. It runs on a thread of its own until destroyed and counts what came in.

#include "support/traffic/sockets.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::testing {

class Backend {
 public:
  /// Port 0: one that is free for both. Throws std::runtime_error when it cannot listen.
  Backend(const core::IpAddress& address, std::string name, std::uint16_t port = 0);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const std::string& name() const { return name_; }
  const core::Target& target() const { return target_; }
  std::uint16_t port() const { return target_.port; }
  std::size_t connections() const { return connections_; }
  std::size_t datagrams() const { return datagrams_; }

 private:
  bool listen_on(std::uint16_t port);
  void serve(const std::stop_token& stop);
  void accept_all(std::vector<Socket>& clients);
  bool answer(int client) const;
  void answer_datagrams();

  const std::string name_;
  core::Target target_;
  Socket tcp_;
  Socket udp_;
  std::atomic<std::size_t> connections_ = 0;
  std::atomic<std::size_t> datagrams_ = 0;
  std::jthread thread_;
};

}  // namespace kindlb::testing

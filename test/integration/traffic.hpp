#pragma once
// Clients that go on for a while: one that asks all the time, and one connection that stays open.

#include "kindlb/core/proxy_config.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::it {

/// Asks each target in turn over a new connection, until stopped.
class Poller {
 public:
  explicit Poller(std::vector<core::Target> targets, std::string expected);

  /// What was answered instead of the expected body, with the moment.
  std::vector<std::string> failures();
  std::size_t answers();

 private:
  void poll(const std::stop_token& stop);

  const std::vector<core::Target> targets_;
  const std::string expected_;
  std::mutex mutex_;
  std::vector<std::string> failures_;
  std::size_t answers_ = 0;
  std::jthread thread_;
};

/// Gives back what it receives, on any number of connections.
class Echo {
 public:
  explicit Echo(const core::IpAddress& address);
  ~Echo();
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  void serve(const std::stop_token& stop);

  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

/// One connection that stays open.
class Connection {
 public:
  explicit Connection(const core::Target& target);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// What comes back for it, or "closed".
  std::string say(const std::string& text);

 private:
  int fd_ = -1;
};

}  // namespace kindlb::it

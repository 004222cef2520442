#pragma once
// Clients that must not notice what happens behind an address: new connections at a steady rate,
// each with one question and its answer, and some that stay open and go on talking. For backends of
// support/backend.hpp. Runs on threads of its own from construction until the report is asked for.

#include "support/traffic/sockets.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::testing {

struct LoadOptions {
  core::Target target;
  int per_second = 200;  ///< new connections
  int lasting = 10;      ///< connections that stay
};

struct LoadReport {
  std::size_t connections = 0;  ///< new ones that were answered
  std::size_t exchanges = 0;    ///< on the lasting ones
  /// "1234 ms: new: connect: Connection refused", by time since the start.
  std::vector<std::string> failures;
  std::map<std::string, std::size_t> answers;  ///< new connections by backend

  std::string text() const;
};

class Load {
 public:
  explicit Load(LoadOptions options);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// So far.
  LoadReport so_far();
  /// Waits until that many more new connections were made and each lasting one spoke again; false:
  /// not within the limit.
  bool go_on(std::size_t connections, std::chrono::milliseconds limit = std::chrono::seconds(20));
  /// Ends it.
  LoadReport finish();

 private:
  using Clock = std::chrono::steady_clock;
  void open_some(const std::stop_token& stop, int lane);
  void talk(const std::stop_token& stop);
  bool talk_on(std::size_t which, Socket& socket, std::size_t round);
  void open_one(std::size_t number);
  void failed(const std::string& what);
  void answered(const std::string& backend);

  const LoadOptions options_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  LoadReport report_;
  std::vector<std::jthread> threads_;
};

}  // namespace kindlb::testing

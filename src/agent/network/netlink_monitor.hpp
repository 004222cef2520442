#pragma once
// Tells that something has changed in the network namespace of the calling thread, as the kernel
// reports it: addresses, routes, links and rules of nf_tables. What exactly is for others to find
// out; too many reports for the socket's buffer are a change like any other. Needs no capability.
// Runs on the loop, which must outlive it; not thread-safe.

#include "kindlb/base/fd.hpp"
#include "loop.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace kindlb::agent {

class NetlinkMonitor {
 public:
  /// `own`: the port number of the socket whose changes of addresses and routes are not reported.
  NetlinkMonitor(Loop& loop, std::uint32_t own, std::function<void()> changed);
  ~NetlinkMonitor();
  NetlinkMonitor(const NetlinkMonitor&) = delete;
  NetlinkMonitor& operator=(const NetlinkMonitor&) = delete;

 private:
  using IsNotable = std::function<bool(std::string_view)>;

  void subscribe(int protocol, const std::vector<int>& groups, const IsNotable& is_notable);
  void read(int fd, const IsNotable& is_notable);

  Loop& loop_;
  std::function<void()> changed_;
  std::vector<base::Fd> sockets_;
};

}  // namespace kindlb::agent

#include "network/netlink_monitor.hpp"

#include "log.hpp"
#include "network/netlink.hpp"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace kindlb::agent {

NetlinkMonitor::NetlinkMonitor(Loop& loop, std::uint32_t own, std::function<void()> changed)
    : loop_(loop), changed_(std::move(changed)) {
  subscribe(NETLINK_ROUTE,
            {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
             RTNLGRP_IPV6_ROUTE},
            [own](std::string_view text) { return netlink::is_notable(text, own); });
  subscribe(NETLINK_NETFILTER, {NFNLGRP_NFTABLES}, [](std::string_view) { return true; });
}

NetlinkMonitor::~NetlinkMonitor() {
  for (const auto& socket : sockets_) loop_.unwatch(socket.get());
}

/// Bound first: the kernel takes a socket without a port number for the one that made the change,
/// which is not told. A kernel without nf_tables has no such group: then there are no rules to lose
/// either.
void NetlinkMonitor::subscribe(int protocol, const std::vector<int>& groups,
                               const IsNotable& is_notable) {
  base::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  const sockaddr_nl any{.nl_family = AF_NETLINK};
  (void)::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any));
  for (const int group : groups)
    if (::setsockopt(socket.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) !=
        0) {
      if (protocol == NETLINK_ROUTE)
        log(std::string("changes of the network will not be noticed: ") + std::strerror(errno));
      return;
    }
  const int fd = socket.get();
  sockets_.push_back(std::move(socket));
  loop_.watch(fd, POLLIN, [this, fd, is_notable](short) { read(fd, is_notable); });
}

void NetlinkMonitor::read(int fd, const IsNotable& is_notable) {
  bool notable = false;
  std::array<char, 65536> buffer{};
  while (true) {
    const auto size = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != ENOBUFS) break;
    notable = notable || size < 0 || is_notable({buffer.data(), static_cast<std::size_t>(size)});
  }
  if (notable) changed_();
}

}  // namespace kindlb::agent

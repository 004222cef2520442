#include "relay.hpp"

#include "kindlb/base/fd.hpp"
#include "log.hpp"
#include "unix_address.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace kindlb::agent {
namespace {

base::Fd connect_to(const std::string& path) {
  const auto address = UnixAddress::parse(path);
  if (!address) return {};
  base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), address->get(), address->size()) != 0) socket.reset();
  return socket;
}

/// The container may have started a moment ago: give the agent a second to listen.
base::Fd connect_with_retries(const std::string& path) {
  base::Fd socket = connect_to(path);
  for (int tries = 0; !socket && tries < 100; ++tries) {
    ::poll(nullptr, 0, 10);
    socket = connect_to(path);
  }
  return socket;
}

/// Copy what can be read now. False at the end of the stream or on an error.
bool copy(int from, int to, std::vector<char>& buffer) {
  const auto size = ::read(from, buffer.data(), buffer.size());
  if (size < 0 && errno == EINTR) return true;
  if (size <= 0) return false;
  return base::write_all(to, {buffer.data(), static_cast<std::size_t>(size)});
}

}  // namespace

int relay_stdio(const std::string& path) {
  const base::Fd agent = connect_with_retries(path);
  if (!agent) {
    log("cannot reach the agent at " + path + ": " + std::strerror(errno));
    return 1;
  }
  std::vector<char> buffer(65536);
  pollfd polled[2] = {{STDIN_FILENO, POLLIN, 0}, {agent.get(), POLLIN, 0}};
  while (::poll(polled, 2, -1) >= 0 || errno == EINTR) {
    if (polled[1].revents != 0 && !copy(agent.get(), STDOUT_FILENO, buffer)) return 0;
    if (polled[0].revents != 0 && !copy(STDIN_FILENO, agent.get(), buffer)) {
      // End of input: pass it on as a half-close. The agent closes its side after what it has sent.
      ::shutdown(agent.get(), SHUT_WR);
      polled[0].fd = -1;
      polled[0].revents = 0;
    }
  }
  return 0;
}

}  // namespace kindlb::agent

#include "control_server.hpp"

#include "unix_address.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace kindlb::agent {
namespace {

constexpr std::size_t kMaxClients = 16;
constexpr std::size_t kMaxUnsent = std::size_t{32} << 20U;

core::Error failure(const std::string& operation) {
  return {core::ErrorKind::Unavailable, operation, std::strerror(errno)};
}

}  // namespace

ControlServer::~ControlServer() {
  loop_.cancel(heartbeat_);
  for (const auto& [id, client] : clients_) loop_.unwatch(client.socket.get());
  if (listener_) loop_.unwatch(listener_.get());
}

core::Result<void> ControlServer::listen(const std::string& path) {
  const auto address = UnixAddress::parse(path);
  if (!address)
    return core::Error{core::ErrorKind::Invalid, "listen at " + path,
                       "the path is too long for a unix socket"};
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ::unlink(path.c_str());
  const mode_t former = ::umask(0177);  // bind() creates it with 0600, without a moment of more
  const int bound = ::bind(listener_.get(), address->get(), address->size());
  ::umask(former);
  if (bound != 0 || ::listen(listener_.get(), 16) != 0) return failure("listen at " + path);
  loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
  return {};
}

void ControlServer::accept() {
  base::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket || clients_.size() >= kMaxClients) return;
  const auto id = ++last_client_;
  auto& client = clients_[id];
  client.socket = std::move(socket);
  if (clients_.size() == 1) schedule_heartbeat();
  watch(id, client);
  events_.connected(id);
}

void ControlServer::watch(ClientId id, Client& client) {
  const auto events = static_cast<short>(client.unsent.empty() ? POLLIN : POLLIN | POLLOUT);
  loop_.watch(client.socket.get(), events, [this, id](short revents) { ready(id, revents); });
}

/// Each step may drop the client, hence the second lookup. An error or hang-up is handled as input:
/// recv() reports it.
void ControlServer::ready(ClientId id, short revents) {
  auto found = clients_.find(id);
  if (found != clients_.end() && (revents & POLLOUT) != 0) flush(id, found->second);
  found = clients_.find(id);
  if (found != clients_.end() && (revents & ~POLLOUT) != 0) receive(id, found->second);
}

void ControlServer::receive(ClientId id, Client& client) {
  std::vector<char> buffer(65536);
  const auto size = ::recv(client.socket.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return drop(id);
  if (client.closing) return;
  // Collected before the first is handled: sending its answer may drop the client and with it the
  // splitter.
  std::vector<std::string> lines;
  const bool fits = client.splitter.feed({buffer.data(), static_cast<std::size_t>(size)},
                                         [&](std::string_view line) {
                                           lines.emplace_back(line);
                                           return true;
                                         });
  for (const auto& line : lines) events_.line(id, line);
  if (fits) return;
  if (const auto still = clients_.find(id); still != clients_.end()) still->second.closing = true;
  events_.overflowed(id);
}

void ControlServer::send(ClientId id, const protocol::Message& message) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second.unsent += protocol::encode(message);
  flush(id, found->second);
}

/// Ids are collected first, since sending may drop clients.
void ControlServer::send_to_all(const protocol::Message& message) {
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const auto id : ids) send(id, message);
}

void ControlServer::flush(ClientId id, Client& client) {
  const auto sent =
      ::send(client.socket.get(), client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return drop(id);
  if (sent > 0) client.unsent.erase(0, static_cast<std::size_t>(sent));
  // A client that does not read would fill the agent's memory.
  if (client.unsent.size() > kMaxUnsent || (client.closing && client.unsent.empty()))
    return drop(id);
  watch(id, client);
}

void ControlServer::drop(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  loop_.unwatch(found->second.socket.get());
  clients_.erase(found);
  if (clients_.empty()) loop_.cancel(heartbeat_);
}

void ControlServer::schedule_heartbeat() {
  heartbeat_ = loop_.after(protocol::kHeartbeatInterval, [this] { send_heartbeats(); });
}

/// A client that has not read what it was sent before gets none: it would learn nothing new, and
/// unread heartbeats would add up.
void ControlServer::send_heartbeats() {
  schedule_heartbeat();
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_)
    if (client.unsent.empty()) ids.push_back(id);
  for (const auto id : ids) send(id, protocol::Heartbeat{});
}

}  // namespace kindlb::agent

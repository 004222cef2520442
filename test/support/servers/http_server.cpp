#include "support/servers/http_server.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/assert.hpp"
#include "support/servers/server_connection.hpp"
#include "text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

namespace kindlb::test {

namespace {

std::string head_of(int status, const std::vector<http::Header>& headers) {
  std::string head = fmt::format("HTTP/1.1 {} Scripted\r\n", status);
  for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
  return head;
}

std::size_t content_length(const Received& request) {
  const std::string text = request.header("Content-Length");
  std::size_t length = 0;
  std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

Received parse_head(std::string_view head) {
  Received request;
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const auto first = line.find(' ');
  const auto second = line.find(' ', first + 1);
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  head.remove_prefix(std::min(head.size(), line.size() + 2));
  while (!head.empty()) {
    const std::string_view header = head.substr(0, head.find("\r\n"));
    const auto colon = std::min(header.find(':'), header.size() - 1);
    request.headers.push_back({std::string(header.substr(0, colon)),
                               std::string(base::trimmed(header.substr(colon + 1)))});
    head.remove_prefix(std::min(head.size(), header.size() + 2));
  }
  return request;
}

/// Nothing: the client has closed. `buffer` keeps what belongs to the next request.
std::optional<Received> read_request(ServerConnection& peer, std::string& buffer) {
  const auto read_more = [&] {
    const std::string more = peer.receive();
    buffer += more;
    return !more.empty();
  };
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
    if (!read_more()) return std::nullopt;
  Received request = parse_head(std::string_view(buffer).substr(0, end));
  const std::size_t length = content_length(request);
  while (buffer.size() < end + 4 + length)
    if (!read_more()) return std::nullopt;
  request.body = buffer.substr(end + 4, length);
  buffer.erase(0, end + 4 + length);
  request.server_name = peer.server_name();
  request.client_name = peer.client_name();
  return request;
}

/// A write to a closed TLS connection must not end the test; only for this thread, so that the
/// code under test stays as it is.
void block_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

template <typename Address>
void bind_and_listen(int fd, const Address& address) {
  KINDLB_ASSERT(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  KINDLB_ASSERT(::listen(fd, 64) == 0);
}

}  // namespace

std::string Received::header(std::string_view name) const {
  const auto* const found = http::find_header(headers, name);
  return found == nullptr ? std::string() : found->value;
}

void Exchange::answer(int status, std::string_view body, const std::vector<http::Header>& headers) {
  send(head_of(status, headers) + fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body));
}

void Exchange::start_chunks(int status, const std::vector<http::Header>& headers) {
  send(head_of(status, headers) + "Transfer-Encoding: chunked\r\n\r\n");
}

void Exchange::chunk(std::string_view bytes) {
  send(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
}

void Exchange::end_chunks() {
  send("0\r\n\r\n");
}

bool Exchange::send(std::string_view bytes) {
  return peer_.send(bytes);
}

std::string Exchange::receive() {
  return peer_.receive();
}

void Exchange::stall() {
  while (!peer_.receive().empty()) continue;
  hang_up();
}

HttpServer::HttpServer(Script script, ServerOptions options)
    : script_(std::move(script)), options_(std::move(options)) {
  if (options_.tls) {
    const auto& [cert, key, client_ca] = *options_.tls;
    tls_context_ = make_tls_context(cert, key, client_ca);
  }
  if (options_.unix_socket)
    listen_unix();
  else
    listen_tcp();
  acceptor_ = std::thread([this] { accept_loop(); });
}

HttpServer::~HttpServer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const auto& connection : connections_) ::shutdown(connection.fd, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);  // lets accept return
  acceptor_.join();
  for (auto& connection : connections_) {
    connection.thread.join();
    ::close(connection.fd);
  }
  ::close(listener_);
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

void HttpServer::listen_tcp() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind_and_listen(listener_, address);
  socklen_t size = sizeof(address);
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
}

void HttpServer::listen_unix() {
  directory_ = (std::filesystem::temp_directory_path() / "kindlb-test-XXXXXX").string();
  KINDLB_ASSERT(::mkdtemp(directory_.data()) != nullptr);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory_ + "/socket";
  KINDLB_ASSERT(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  bind_and_listen(listener_, address);
}

std::string HttpServer::url() const {
  if (options_.unix_socket) return "unix://" + directory_ + "/socket";
  return fmt::format("{}://127.0.0.1:{}", options_.tls ? "https" : "http", port_);
}

void HttpServer::accept_loop() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::scoped_lock lock(mutex_);
    if (stopping_ || fd < 0) {
      if (fd >= 0) ::close(fd);
      return;
    }
    ++accepted_;
    Connection& connection = connections_.emplace_back();
    connection.fd = fd;
    connection.thread = std::thread([this, &connection] { serve(connection); });
  }
}

void HttpServer::serve(Connection& connection) {
  block_sigpipe();
  {
    ServerConnection peer(connection.fd, static_cast<SSL_CTX*>(tls_context_.get()));
    if (peer.handshake()) serve_requests(peer);
  }
  // The descriptor is closed only after the thread was joined, so its number is not reused before.
  ::shutdown(connection.fd, SHUT_RDWR);
  const std::scoped_lock lock(mutex_);
  connection.done = true;
  changed_.notify_all();
}

void HttpServer::serve_requests(ServerConnection& peer) {
  std::string buffer;
  while (auto request = read_request(peer, buffer)) {
    Exchange exchange(peer, *std::move(request));
    script_(exchange);
    if (exchange.hung_up()) return;
  }
}

bool HttpServer::wait_until_open(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] {
    const auto open = std::ranges::count(connections_, false, &Connection::done);
    return static_cast<std::size_t>(open) <= count;
  });
}

void HttpServer::cut_connections() {
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& connection : connections_) ::shutdown(connection.fd, SHUT_RDWR);
  }
  KINDLB_ASSERT(wait_until_idle());
}

}  // namespace kindlb::test

#pragma once
// A small HTTP/1.1 server that does what a test tells it: answers, streams chunk by chunk, stalls,
// hangs up half-way, or hands over the raw connection. Listens on 127.0.0.1 with a port of its own,
// or on a unix socket in a directory of its own; with TLS if wanted. One thread per connection, on
// which the script runs for each request. Destruction cuts every connection and joins the threads.

#include "kindlb/http/client.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace kindlb::test {

struct Received {
  std::string method;
  std::string target;
  std::vector<http::Header> headers;
  std::string body;
  std::string server_name;  ///< TLS: the name the client asked for
  std::string client_name;  ///< TLS: common name of the client's certificate

  std::string header(std::string_view name) const;  ///< empty: not there
};

class ServerConnection;

/// One request, and the connection it came on.
class Exchange {
 public:
  Exchange(ServerConnection& peer, Received request) : peer_(peer), request_(std::move(request)) {}

  const Received& request() const { return request_; }

  void answer(int status, std::string_view body, const std::vector<http::Header>& headers = {});

  void start_chunks(int status = 200, const std::vector<http::Header>& headers = {});
  void chunk(std::string_view bytes);
  void end_chunks();

  /// The bare connection, also after a hand-made "101". False: the peer is gone.
  bool send(std::string_view bytes);
  /// Blocks for more bytes; empty: the peer has closed, or the server stops.
  std::string receive();
  /// Says nothing until the peer closes or the server stops.
  void stall();
  /// Ends the connection when the script returns.
  void hang_up() { hung_up_ = true; }
  bool hung_up() const { return hung_up_; }

 private:
  ServerConnection& peer_;
  Received request_;
  bool hung_up_ = false;
};

using Script = std::function<void(Exchange&)>;

struct ServerTls {
  std::string cert_pem;
  std::string key_pem;
  std::string client_ca_pem;  ///< not empty: a client certificate of this CA is required
};

struct ServerOptions {
  bool unix_socket = false;
  std::optional<ServerTls> tls = {};
};

class HttpServer {
 public:
  explicit HttpServer(Script script, ServerOptions options = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "unix:///...", "http://127.0.0.1:port" or "https://127.0.0.1:port"
  std::string url() const;
  std::uint16_t port() const { return port_; }

  std::size_t connections() const { return accepted_; }  ///< accepted so far
  /// Waits up to ten seconds until no more than `count` connections are open.
  bool wait_until_open(std::size_t count);
  bool wait_until_idle() { return wait_until_open(0); }
  /// Cuts every open connection from the server's side and waits until they are gone.
  void cut_connections();

 private:
  struct Connection {
    int fd = -1;
    bool done = false;
    std::thread thread;
  };

  void listen_tcp();
  void listen_unix();
  void accept_loop();
  void serve(Connection& connection);
  void serve_requests(ServerConnection& peer);

  const Script script_;
  const ServerOptions options_;
  std::shared_ptr<void> tls_context_;
  std::string directory_;
  std::uint16_t port_ = 0;
  int listener_ = -1;

  std::atomic<std::size_t> accepted_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Connection> connections_;
  bool stopping_ = false;
  std::thread acceptor_;
};

}  // namespace kindlb::test

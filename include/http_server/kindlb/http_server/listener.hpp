#pragma once
// cpp-httplib's server with its connection handling replaced. The library reserves a thread for
// each connection, so a few hundred idle keep-alive clients or slow senders would block all others.
// Here a connection waits in a ConnectionPoller until a complete request has arrived and occupies a
// worker thread only while that request is answered. Parsing, routing and writing responses remain
// the library's.
//
// Register handlers and bind as with httplib::Server, then call set_accept_backlog() and
// listen_after_bind(). Handlers run on worker threads, several at a time; they find the request's
// path in `Request::target` (see sanitize() in listener.cpp).

#include "kindlb/base/thread_pool.hpp"
#include "kindlb/http_server/limits.hpp"
#include "kindlb/http_server/tls_context.hpp"

#include <sys/socket.h>

#include <httplib.h>

#include <functional>
#include <memory>
#include <string>

namespace kindlb::http_server {

struct Connection;
class ConnectionPoller;

class HttpListener final : public httplib::Server {
 public:
  struct Options {
    ConnectionLimits limits;
    std::size_t threads = 256;        ///< requests answered at a time; further ones are queued
    std::shared_ptr<TlsContext> tls;  ///< accept TLS and plain HTTP on one port; null: plain only
    /// The JSON body of an error that is answered before a handler is called. Called from any
    /// thread.
    std::function<std::string(int status)> error_body;
  };
  explicit HttpListener(Options options);
  ~HttpListener() override;

  /// Call after binding. The library's backlog of 5 makes the sixth client of a burst retry its SYN
  /// after a second.
  void set_accept_backlog() { ::listen(svr_sock_, 1024); }
  /// Close the connection once the current response is sent. For handlers, when the end of the
  /// request's body is unknown: the bytes that follow could be read as another request.
  static void close_after_response();
  /// Close every connection and wait for the handlers that run. Call after stop(); idempotent.
  void close_all();

 private:
  bool process_and_close_socket(socket_t socket) override;
  void serve(Connection connection);
  /// Answer one request. Return false if the connection cannot be used again.
  bool answer(Connection& connection);

  const Options options_;
  std::stop_source stopping_;
  base::ThreadPool workers_;
  std::unique_ptr<ConnectionPoller> poller_;
};

}  // namespace kindlb::http_server

#pragma once
// An HTTP/1.1 server: binds a port, accepts connections, and answers requests with a handler. What
// a path means is the handler's; it is called only with requests that are complete and within the
// limits.
//
// A connection waits in a ConnectionPoller until a whole request has arrived, so idle and slow
// clients occupy no thread. A worker thread answers the request, one at a time per connection and
// in the order of arrival. A streamed response occupies its worker until it ends: bound the number
// of streams below Options::threads.
//
// Threads: one accepts, one polls, up to Options::threads answer. What the handler refers to must
// outlive the listener, or its close().

#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/http_server/limits.hpp"
#include "kindlb/http_server/message.hpp"
#include "kindlb/http_server/tls_context.hpp"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

namespace kindlb::http_server {

struct Connection;
struct ListeningSocket;
class ConnectionPoller;

class HttpListener {
 public:
  struct Options {
    ConnectionLimits limits;
    std::size_t threads = 256;        ///< requests answered at a time; further ones are queued
    std::shared_ptr<TlsContext> tls;  ///< accept TLS and plain HTTP on one port; null: plain only
    /// What to answer when there is no request to call the handler with, or when it throws. Called
    /// from any thread.
    std::function<Response(int status)> error_response = plain_error;
  };
  HttpListener(Options options, Handler handler);
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  /// Bind to `host`, an IP address, and serve. Port zero: choose a free one. Call once.
  core::Result<void> listen(const std::string& host, int port);
  /// The port that listen() has bound.
  int port() const;
  /// Stop accepting, end all responses, close every connection and wait for the handlers that run.
  /// Idempotent. Not from a handler.
  void close();

 private:
  void accept_connections();
  void serve(Connection connection);
  /// Answer one request. Return false if the connection cannot be used again.
  bool answer(Connection& connection);
  Response call_handler(const Request& request) const;

  const Options options_;
  const Handler handler_;
  std::stop_source stopping_;
  std::unique_ptr<ListeningSocket> socket_;
  base::ThreadPool workers_;
  std::unique_ptr<ConnectionPoller> poller_;
  std::jthread accept_thread_;
};

}  // namespace kindlb::http_server

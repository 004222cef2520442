#pragma once
// GET requests to Envoy's admin interface on its unix socket. Not a general HTTP client: one
// request at a time, no redirects, no retries. The connection is kept between requests, since
// AckPoller sends many in quick succession. Runs on the loop, which must outlive it; not
// thread-safe.

#include "envoy/http_response.hpp"
#include "kindlb/base/fd.hpp"
#include "kindlb/core/result.hpp"
#include "loop.hpp"

#include <functional>
#include <string>

namespace kindlb::agent {

class AdminClient {
 public:
  using Done = std::function<void(core::Result<std::string> body)>;

  /// `socket`: a path, or an abstract name after "@".
  AdminClient(Loop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}
  ~AdminClient() { close(); }
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  /// Send a request. `done` is called from the loop, never from within get(), unless close() comes
  /// first. Anything but a 200 within two seconds is an error; the connection is then closed.
  /// REQUIRES: no request under way.
  void get(const std::string& path, Done done);
  /// Abandon the request under way, without calling its `done`, and close the connection.
  void close();

 private:
  core::Result<void> connect();
  bool send_request();
  void readable();
  void finish(core::Result<std::string> result);
  void fail(const std::string& detail);

  Loop& loop_;
  std::string socket_;
  base::Fd connection_;
  std::string unsent_;
  HttpResponse response_{0};
  Done done_;
  Loop::TimerId timer_ = 0;
};

}  // namespace kindlb::agent

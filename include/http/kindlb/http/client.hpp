#pragma once
// The HTTP client through which kindlb talks to Docker engines and API servers: HTTP/1.1 over a
// unix socket or over TCP, with or without TLS. Knows nothing of Docker or Kubernetes, follows no
// redirects and uses no proxy. A Client may be used from many threads at once; idle connections are
// reused. Every call has a deadline, and a stop request ends it within milliseconds, also in the
// middle of a silent stream. Failures of the connection are Errors; HTTP statuses are not, except
// for upgrade().

#include "kindlb/core/result.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::http {

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  ///< path and query, already escaped
  std::vector<Header> headers;
  std::string body;
  /// send(): for the whole call. stream() and upgrade(): until the response's headers are complete.
  std::chrono::milliseconds timeout{30'000};
  /// stream(): longest silence between two chunks; zero: no limit.
  std::chrono::milliseconds idle_timeout{0};
  /// A longer body is TooLarge. A streamed 2xx body is not collected and has no limit.
  std::size_t max_body = std::size_t{64} << 20U;
  /// stream(): called once, when the headers of a 2xx answer are complete, before the first chunk.
  std::function<void()> on_open = {};
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  std::string body;

  /// Return the value of the first header of that name (in any case), or empty.
  std::string_view header(std::string_view name) const;
};

/// A connection that no longer carries HTTP (after 101, or Docker's "hijacked" 200): raw bytes both
/// ways. One thread may read while another writes; the destructor closes the connection.
class Duplex {
 public:
  virtual ~Duplex() = default;
  /// Return the socket, to wait for readability with poll or epoll. Read until read() returns 0
  /// before waiting: with TLS, or right after the upgrade, bytes may be buffered already, and the
  /// socket would not become readable for them.
  virtual int fd() const = 0;
  /// Read without blocking and return the number of bytes; 0: none at the moment. The end of the
  /// stream is an Unavailable error.
  virtual core::Result<std::size_t> read(std::span<char> into) = 0;
  /// Block until all bytes are handed to the kernel or `timeout` passes. After a Timeout an unknown
  /// part has been written: the stream is then unusable.
  virtual core::Result<void> write(std::string_view bytes, std::chrono::milliseconds timeout) = 0;
};

/// Called with each piece of a body as it arrives; pieces have nothing to do with HTTP chunks.
/// Returning false ends the stream, which then counts as a success.
using ChunkSink = std::function<bool(std::string_view)>;

/// Thread-safe. Must outlive the calls made on it.
class Client {
 public:
  virtual ~Client() = default;
  /// Send a request and collect the answer. Any complete HTTP response is a success, whatever its
  /// status.
  virtual core::Result<Response> send(const Request& request, std::stop_token stop = {}) = 0;
  /// Pass a 2xx body to `sink` piece by piece on the calling thread (Response::body stays empty);
  /// any other body is collected into the Response.
  virtual core::Result<Response> stream(const Request& request, const ChunkSink& sink,
                                        std::stop_token stop = {}) = 0;
  /// Send an Upgrade request ("Upgrade: tcp" unless the request names a protocol) on a connection
  /// of its own. 101 and 200 (as older Docker engines answer) give the connection; any other answer
  /// is an Error whose detail is the answer's body and whose kind is that of kind_of_status().
  virtual core::Result<std::unique_ptr<Duplex>> upgrade(const Request& request,
                                                        std::stop_token stop = {}) = 0;
};

/// Return the kind a status stands for: 404 NotFound, 409 Conflict, 410 Expired, 401/403 Denied,
/// 408/504 Timeout, 5xx and 429 Unavailable, other 4xx Invalid, anything below 400 Protocol.
core::ErrorKind kind_of_status(int status);

/// TLS credentials as PEM text in memory: no key is ever written to disk.
struct Tls {
  std::string ca_pem;    ///< empty: the system's store
  std::string cert_pem;  ///< client certificate, with its key
  std::string key_pem;
  bool insecure = false;    ///< do not verify the server
  std::string server_name;  ///< verify against this name instead of the URL's host
};

struct Endpoint {
  std::string url;  ///< "unix:///var/run/docker.sock", "http://host:port", "https://host:port"
  Tls tls;
  std::string bearer_token;
  std::chrono::milliseconds connect_timeout{5'000};
};

/// Make a client. Does not connect yet. Invalid when the URL has another scheme or the PEM text
/// cannot be used.
core::Result<std::unique_ptr<Client>> make_client(Endpoint endpoint);

}  // namespace kindlb::http

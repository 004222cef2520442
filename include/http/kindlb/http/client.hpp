#pragma once
// The one seam through which bytes leave kindlb: HTTP/1.1 over a unix socket or over TCP, with or
// without TLS. Knows nothing of Docker or Kubernetes. A Client may be used from many threads at
// once; idle connections are reused. Every call has a deadline, and a stop request ends it within
// milliseconds, also in the middle of a silent stream.

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
  /// Unary: the whole call. Streams: until the response's headers.
  std::chrono::milliseconds timeout{30'000};
  /// Streams: longest silence between two chunks; zero: no limit.
  std::chrono::milliseconds idle_timeout{0};
  /// More than this is TooLarge. A streamed 2xx body is not collected and has no limit.
  std::size_t max_body = std::size_t{64} << 20U;
  /// Streams: called once, when the headers of a 2xx answer are in and before the first chunk.
  std::function<void()> on_open = {};
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  std::string body;

  /// Value of the first header of that name (any case), or empty.
  std::string_view header(std::string_view name) const;
};

/// A connection that stopped speaking HTTP (101, or Docker's hijack): raw bytes both ways.
/// One thread may read while another writes.
class Duplex {
 public:
  virtual ~Duplex() = default;
  /// To wait for readability with poll or epoll. Read until it returns 0 before waiting.
  virtual int fd() const = 0;
  /// Without blocking: bytes read; 0: nothing now. The end of the stream is an Unavailable error.
  virtual core::Result<std::size_t> read(std::span<char> into) = 0;
  /// Blocks until all is handed to the kernel, or `timeout` passes.
  virtual core::Result<void> write(std::string_view bytes, std::chrono::milliseconds timeout) = 0;
};

/// Called with each chunk of a body; returning false ends the stream, which is then a success.
using ChunkSink = std::function<bool(std::string_view)>;

class Client {
 public:
  virtual ~Client() = default;
  /// Any complete HTTP response is a success here, whatever its status.
  virtual core::Result<Response> send(const Request& request, std::stop_token stop = {}) = 0;
  /// A 2xx body goes to `sink` chunk by chunk on the calling thread (Response::body stays empty);
  /// any other body is collected into the Response.
  virtual core::Result<Response> stream(const Request& request, const ChunkSink& sink,
                                        std::stop_token stop = {}) = 0;
  /// Sends an Upgrade request ("Upgrade: tcp" unless the request names a protocol). 101 and 200
  /// give the connection; any other answer is an error whose detail carries the server's text and
  /// whose kind is mapped by `kind_of_status`.
  virtual core::Result<std::unique_ptr<Duplex>> upgrade(const Request& request,
                                                        std::stop_token stop = {}) = 0;
};

/// 404 NotFound, 409 Conflict, 410 Expired, 401/403 Denied, 408/504 Timeout, 5xx and 429
/// Unavailable, other 4xx Invalid.
core::ErrorKind kind_of_status(int status);

/// PEM text from memory: no key ever touches the disk.
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

/// Invalid when the URL has another scheme or the PEM cannot be used.
core::Result<std::unique_ptr<Client>> make_client(Endpoint endpoint);

}  // namespace kindlb::http

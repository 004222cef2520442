#pragma once
// HTTP requests and responses as handlers see them: plain values that know nothing of connections,
// threads or the library that parses and serializes them.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::http_server {

struct Header {
  std::string name;
  std::string value;

  bool operator==(const Header&) const = default;
};

/// A complete request: the body has arrived, and its transfer coding is undone.
struct Request {
  std::string method;  ///< "GET"
  std::string target;  ///< path and query, as received; see parse_target()
  std::vector<Header> headers;
  std::string body;
  bool http_1_0 = false;
  bool keep_alive = true;  ///< whether the client wants to use the connection again

  /// Return the value of the first header of that name (in any case), or empty.
  std::string_view header(std::string_view name) const;
};

/// Returns the next piece of a body that is sent while it comes into being. An empty piece means
/// that there is none at the moment; nothing ends the response. It may block, but for a moment only
/// (a quarter of a second, say): between two calls the listener checks whether the client is still
/// there and whether it was closed itself. Called by one thread at a time, and destroyed once the
/// response has ended, for whatever reason.
using Producer = std::function<std::optional<std::string>()>;

struct Response {
  int status = 200;
  /// Without those about the message's length and the connection: they are the listener's.
  std::vector<Header> headers;
  std::string body;
  Producer producer;   ///< if set, what it returns is sent instead of `body`
  bool close = false;  ///< close the connection after this response
};

/// Answers a request. Called from many threads at once. If it throws, the client gets 500.
using Handler = std::function<Response(const Request&)>;

/// Return a response for people: the reason phrase of `status`, as text.
Response plain_error(int status);

}  // namespace kindlb::http_server

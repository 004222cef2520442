#pragma once
// The libcurl options of one connection and of one request. Callers keep the Destination, the
// Request and the returned list alive until the transfer has ended: libcurl only borrows them.

#include "curl_handles.hpp"
#include "kindlb/http/client.hpp"
#include "route.hpp"

#include <optional>

namespace kindlb::http {

/// Where a client connects to, validated. Immutable once made, so all calls of the client share it
/// without a lock.
struct Destination {
  Endpoint endpoint;
  Route route;
  HeaderList connect_to;
};
core::Result<Destination> make_destination(Endpoint endpoint);

/// Set everything that decides where a connection goes and how it is secured. Equal for all calls
/// of a client, or libcurl would not reuse the connection.
CURLcode apply_connection(CURL* easy, const Destination& destination);

struct RequestOptions {
  CURLcode code = CURLE_OK;
  HeaderList headers;
};
/// Set method, URL, headers and body.
RequestOptions apply_request(CURL* easy, const Destination& destination, const Request& request);

/// Return why the request must not be sent as it is: a method, target or header with a line break
/// or another control character in it would let its author smuggle in headers or requests.
std::optional<core::Error> validate(const Request& request);

}  // namespace kindlb::http

#pragma once
// The libcurl options of one connection and of one request. Callers keep the Destination, the
// Request and the returned list alive until the transfer has ended: libcurl only borrows them.

#include "curl_handles.hpp"
#include "kindlb/http/client.hpp"
#include "route.hpp"

#include <optional>

namespace kindlb::http {

/// Where a client goes. Never changes once made, so all its calls share it.
struct Destination {
  Endpoint endpoint;
  Route route;
  HeaderList connect_to;
};
core::Result<Destination> make_destination(Endpoint endpoint);

/// Everything that decides where a connection goes and how it is secured.
CURLcode apply_connection(CURL* easy, const Destination& destination);

struct RequestOptions {
  CURLcode code = CURLE_OK;
  HeaderList headers;
};
/// Method, URL, headers and body.
RequestOptions apply_request(CURL* easy, const Destination& destination, const Request& request);

/// Why the request cannot be sent as it is: a header, method or target with a line break in it.
std::optional<core::Error> validate(const Request& request);

}  // namespace kindlb::http

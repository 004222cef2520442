#pragma once
// An Endpoint's URL, parsed once, so that a bad one is refused before the first call. Pure.

#include "kindlb/http/client.hpp"

#include <string>

namespace kindlb::http {

struct Route {
  std::string unix_path;   ///< empty: TCP
  std::string base_url;    ///< what libcurl is given, without a trailing slash
  std::string authority;   ///< for the Host header
  std::string prefix;      ///< path that every target is appended to; usually empty
  std::string connect_to;  ///< CURLOPT_CONNECT_TO entry, when the name to verify is not the address
  std::string display_name;  ///< for error messages
};

/// Parse the URL; Invalid unless its scheme is unix, http or https. A TLS server name that differs
/// from the URL's host becomes the URL's host for libcurl, which then verifies it and sends it as
/// SNI, and connect_to redirects the connection to the real address.
core::Result<Route> parse_route(const Endpoint& endpoint);

}  // namespace kindlb::http

#pragma once
// A connection taken over after the answer's head. libcurl makes it (so unix sockets, TLS and
// client certificates come for free) and then only moves bytes.

#include "curl_handles.hpp"
#include "kindlb/http/client.hpp"
#include "options.hpp"

#include <memory>
#include <stop_token>

namespace kindlb::http {

core::Result<std::unique_ptr<Duplex>> upgrade_connection(const Destination& destination,
                                                         const Request& request,
                                                         const std::stop_token& stop);

}  // namespace kindlb::http

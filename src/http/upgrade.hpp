#pragma once
// A connection taken over after the head of the answer (101 Switching Protocols, or the 200 with
// which older Docker engines "hijack" a connection). libcurl makes the connection, so that unix
// sockets, TLS and client certificates work as for any other call, and then only moves bytes:
// request and answer are written and parsed here (response_head.hpp), since libcurl would otherwise
// consume part of the stream as a body.

#include "curl_handles.hpp"
#include "kindlb/http/client.hpp"
#include "options.hpp"

#include <memory>
#include <stop_token>

namespace kindlb::http {

/// Connect, send the request, and return the connection once the server has agreed. The whole
/// exchange has request.timeout; a stop request ends it with Cancelled.
core::Result<std::unique_ptr<Duplex>> upgrade_connection(const Destination& destination,
                                                         const Request& request,
                                                         const std::stop_token& stop);

}  // namespace kindlb::http

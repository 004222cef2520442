#pragma once
// Responses as bytes. Boost.Beast serializes the header and the chunks of a body that is streamed;
// Transport sends them.

#include "kindlb/http_server/message.hpp"
#include "transport.hpp"

#include <stop_token>
#include <string>

namespace kindlb::http_server {

/// Send the response to `request`, waiting for the client; a streamed one until its producer ends
/// it, the client leaves or `stop` is requested. Return false if the connection cannot carry
/// another request.
bool write_response(Transport& transport, const Request& request, const Response& response,
                    const std::stop_token& stop);

/// Return a response without a producer as one text. It announces the end of the connection.
std::string to_closing_text(const Response& response);

}  // namespace kindlb::http_server

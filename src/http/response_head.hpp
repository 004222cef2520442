#pragma once
// The part of HTTP/1.1 that an upgrade has to do by hand, because libcurl does not hand over a
// connection after an answer: write a request, parse the head of the answer, and read the body of a
// refusal. Not a general HTTP parser. Pure; malformed or hostile bytes give an error or nothing,
// and never more memory than kMaxHead.

#include "kindlb/http/client.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::http {

/// Limit of a head, and of how much of a refusal's body is waited for.
constexpr std::size_t kMaxHead = std::size_t{64} << 10U;

/// Return request line, headers and body. Connection and Upgrade are ours: a Connection header of
/// the request is ignored.
std::string write_upgrade_request(const Request& request, std::string_view path_prefix,
                                  std::string_view authority, std::string_view bearer_token);

enum class Parsed { Complete, Incomplete, Malformed };

struct ResponseHead {
  Parsed parsed = Parsed::Incomplete;
  Response response;     ///< status and headers
  std::size_t size = 0;  ///< bytes of the head; what follows is not ours to touch
};
/// Parse the head at the start of `bytes`. More than kMaxHead without an end is Malformed.
ResponseHead parse_response_head(std::string_view bytes);

/// Return the body of an answer that refuses the upgrade, from the bytes after its head; nothing
/// while more must be read. `closed`: no more will arrive, take what is there.
std::optional<std::string> refusal_body(const Response& head, std::string_view bytes, bool closed);

}  // namespace kindlb::http

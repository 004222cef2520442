#pragma once
// The little of HTTP/1.1 that an upgrade needs by hand, because libcurl does not give up a
// connection after an answer: writing a request, and reading the head of the answer and the body of
// a refusal. Pure; hostile bytes give nothing.

#include "kindlb/http/client.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::http {

constexpr std::size_t kMaxHead = std::size_t{64} << 10U;

/// Request line, headers and body. `authority` and `bearer_token` come first.
std::string write_upgrade_request(const Request& request, std::string_view path_prefix,
                                  std::string_view authority, std::string_view bearer_token);

enum class Parsed { Complete, Incomplete, Malformed };

struct ResponseHead {
  Parsed parsed = Parsed::Incomplete;
  Response response;     ///< status and headers
  std::size_t size = 0;  ///< bytes of the head; what follows is not ours to touch
};
/// The head at the start of `bytes`. More than kMaxHead without an end is Malformed.
ResponseHead parse_response_head(std::string_view bytes);

/// The body of an answer that refuses the upgrade, from the bytes after its head; nothing while
/// more must be read. `closed`: no more will come, take what is there.
std::optional<std::string> refusal_body(const Response& head, std::string_view bytes, bool closed);

}  // namespace kindlb::http

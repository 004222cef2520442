#pragma once
// Escaping for request targets (RFC 3986 §2). Pure.

#include <string>
#include <string_view>

namespace kindlb::http {

/// Percent-encode `text` for one path segment or one query value: everything but letters, digits,
/// "-._~" and the characters of `keep`. "." and ".." are encoded too, so that a name can never
/// climb out of its path.
std::string url_escaped(std::string_view text, std::string_view keep = {});

}  // namespace kindlb::http

#pragma once
// Maps libcurl's many error codes to our few kinds, in one place. Pure.

#include "kindlb/core/result.hpp"

#include <curl/curl.h>

#include <string>
#include <string_view>

namespace kindlb::http {

/// Return the kind a failed transfer counts as. A refused connection is Denied only if the socket's
/// permissions were the reason (`os_errno` EACCES or EPERM), and so is a server whose certificate
/// we do not trust; everything that may heal by itself is Unavailable or Timeout.
core::ErrorKind kind_of_curl(CURLcode code, long os_errno);

/// Return the Error of a failed transfer. `endpoint`: where we tried to connect, `text`: libcurl's
/// error buffer, more specific than the text of the code.
core::Error curl_error(CURL* easy, CURLcode code, std::string operation, std::string_view endpoint,
                       std::string_view text);

}  // namespace kindlb::http

#pragma once
// libcurl's many codes to our few kinds, in one place.

#include "kindlb/core/result.hpp"

#include <curl/curl.h>

#include <string>
#include <string_view>

namespace kindlb::http {

core::ErrorKind kind_of_curl(CURLcode code, long os_errno);

/// What a failed transfer says: `endpoint` is where we tried to go, `text` libcurl's error buffer.
core::Error curl_error(CURL* easy, CURLcode code, std::string operation, std::string_view endpoint,
                       std::string_view text);

}  // namespace kindlb::http

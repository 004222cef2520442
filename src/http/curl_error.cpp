#include "curl_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kindlb::http {

using core::ErrorKind;

// Not all of libcurl's hundred codes: most cannot occur with HTTP and the options we set.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
ErrorKind kind_of_curl(CURLcode code, long os_errno) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return os_errno == EACCES || os_errno == EPERM ? ErrorKind::Denied : ErrorKind::Unavailable;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_OUT_OF_MEMORY:
      return ErrorKind::Unavailable;
    case CURLE_OPERATION_TIMEDOUT:
      return ErrorKind::Timeout;
    case CURLE_PEER_FAILED_VERIFICATION:
      return ErrorKind::Denied;
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return ErrorKind::Invalid;
    case CURLE_FILESIZE_EXCEEDED:
      return ErrorKind::TooLarge;
    default:
      return ErrorKind::Protocol;
  }
}
#pragma GCC diagnostic pop

core::Error curl_error(CURL* easy, CURLcode code, std::string operation, std::string_view endpoint,
                       std::string_view text) {
  long os_errno = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_errno);
  std::string detail(text.empty() ? std::string_view(curl_easy_strerror(code)) : text);
  if (code == CURLE_COULDNT_CONNECT && os_errno != 0)
    detail = std::generic_category().message(static_cast<int>(os_errno));
  if (code == CURLE_PEER_FAILED_VERIFICATION)
    detail += "; check the CA certificate and the server name that are configured for it";
  return {kind_of_curl(code, os_errno), std::move(operation),
          fmt::format("{}: {}", endpoint, detail)};
}

}  // namespace kindlb::http

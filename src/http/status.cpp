#include "kindlb/http/client.hpp"
#include "text.hpp"

namespace kindlb::http {

std::string_view Response::header(std::string_view name) const {
  const auto* const found = find_header(headers, name);
  return found == nullptr ? std::string_view() : found->value;
}

core::ErrorKind kind_of_status(int status) {
  using core::ErrorKind;
  switch (status) {
    case 404:
      return ErrorKind::NotFound;
    case 409:
      return ErrorKind::Conflict;
    case 410:
      return ErrorKind::Expired;
    case 401:
    case 403:
      return ErrorKind::Denied;
    case 408:
    case 504:
      return ErrorKind::Timeout;
    case 429:
      return ErrorKind::Unavailable;
    default:
      break;
  }
  if (status >= 500) return ErrorKind::Unavailable;
  return status >= 400 ? ErrorKind::Invalid : ErrorKind::Protocol;
}

}  // namespace kindlb::http

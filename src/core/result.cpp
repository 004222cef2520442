#include "kindlb/core/result.hpp"

namespace kindlb::core {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::NotFound:
      return "NotFound";
    case ErrorKind::Conflict:
      return "Conflict";
    case ErrorKind::Invalid:
      return "Invalid";
    case ErrorKind::Denied:
      return "Denied";
    case ErrorKind::Expired:
      return "Expired";
    case ErrorKind::Unavailable:
      return "Unavailable";
    case ErrorKind::Timeout:
      return "Timeout";
    case ErrorKind::Cancelled:
      return "Cancelled";
    case ErrorKind::Protocol:
      return "Protocol";
    case ErrorKind::TooLarge:
      return "TooLarge";
  }
  return "?";
}

std::string Error::text() const {
  return operation + ": " + detail + " (" + name_of(kind) + ")";
}

}  // namespace kindlb::core

#include "kindlb/http_server/message.hpp"

#include <strings.h>

#include <algorithm>

namespace kindlb::http_server {

std::string_view Request::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const Header& header) {
    return header.name.size() == name.size() &&
           strncasecmp(header.name.data(), name.data(), name.size()) == 0;
  });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

}  // namespace kindlb::http_server

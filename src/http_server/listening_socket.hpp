#pragma once
// A TCP socket that accepts connections.

#include "kindlb/base/fd.hpp"
#include "kindlb/core/result.hpp"

#include <string>

namespace kindlb::http_server {

struct ListeningSocket {
  base::Fd fd;
  int port = 0;
};

/// Bind to `host`, an IP address or a name, and listen. Port zero: choose a free one.
core::Result<ListeningSocket> open_listening_socket(const std::string& host, int port);

}  // namespace kindlb::http_server

#pragma once
// A client of the scripted server.

#include "kindlb/http/client.hpp"
#include "support/servers/http_server.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

namespace kindlb::test {

inline std::unique_ptr<http::Client> client_of(const HttpServer& server) {
  auto client = http::make_client({.url = server.url()});
  REQUIRE(client.ok());
  return *std::move(client);
}

}  // namespace kindlb::test

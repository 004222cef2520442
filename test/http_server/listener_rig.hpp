#pragma once
// A listener by itself, with a handler that repeats what it was asked.

#include "kindlb/http/client.hpp"
#include "kindlb/http_server/listener.hpp"
#include "support/bare_client.hpp"

#include <memory>
#include <string>
#include <thread>

namespace kindlb::test {

inline http_server::Response repeat(const http_server::Request& request) {
  return {.body = request.method + " " + request.target + " " + request.body + "."};
}

inline std::unique_ptr<http_server::HttpListener> start_listener(
    http_server::HttpListener::Options options = {}, http_server::Handler handler = repeat) {
  auto out = std::make_unique<http_server::HttpListener>(std::move(options), std::move(handler));
  REQUIRE(out->listen("127.0.0.1", 0).ok());
  REQUIRE(out->port() > 0);
  return out;
}

inline std::string get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
}

inline std::string post(const std::string& headers, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body;
}

template <typename Condition>
bool eventually(const Condition& holds) {
  const auto deadline = Clock::now() + 20s;
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

}  // namespace kindlb::test

#include "route.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using http::parse_route;

TEST_CASE("URLs that can be used") {
  struct Case {
    const char* url;
    const char* server_name;
    const char* base_url;
    const char* connect_to;
  };
  for (const auto& [url, server_name, base_url, connect_to] :
       {Case{"http://127.0.0.1:8080", "", "http://127.0.0.1:8080", ""},
        Case{"http://host", "ignored", "http://host:80", ""},
        Case{"https://host", "", "https://host:443", ""},
        Case{"https://[fc00::1]:6443/", "", "https://[fc00::1]:6443", ""},
        Case{"https://host:1/a/b/", "", "https://host:1/a/b", ""},
        Case{"https://1.2.3.4:6443", "kubernetes", "https://kubernetes:6443",
             "kubernetes:6443:1.2.3.4:6443"},
        Case{"https://[fc00::1]:6443", "k8s.local", "https://k8s.local:6443",
             "k8s.local:6443:[fc00::1]:6443"},
        Case{"https://same:1", "same", "https://same:1", ""}}) {
    SUBCASE(url) {
      const auto route = parse_route({.url = url, .tls = {.server_name = server_name}});
      REQUIRE(route.ok());
      CHECK(route->base_url == base_url);
      CHECK(route->connect_to == connect_to);
      CHECK(route->unix_path == "");
    }
  }
}

TEST_CASE("a unix socket") {
  const auto route = parse_route({.url = "unix:///var/run/docker.sock"});
  REQUIRE(route.ok());
  CHECK(route->unix_path == "/var/run/docker.sock");
  CHECK(route->base_url == "http://localhost");
}

TEST_CASE("URLs that cannot") {
  const std::string long_path = "unix:///" + std::string(200, 'x');
  for (const std::string& url :
       {std::string(""), std::string("ftp://host"), std::string("unix://relative"), long_path,
        std::string("ssh://host"), std::string("host:6443"), std::string("http://"),
        std::string("http://user@host"), std::string("http://host?q=1"),
        std::string("http://ho\nst"), std::string("http://host:99999")}) {
    SUBCASE(url.c_str()) {
      const auto route = parse_route({.url = url});
      REQUIRE_FALSE(route.ok());
      CHECK(route.error().kind == core::ErrorKind::Invalid);
    }
  }
  CHECK_FALSE(parse_route({.url = "https://h", .tls = {.server_name = "a/b"}}).ok());
}

TEST_CASE("a client is refused with its endpoint") {
  CHECK_FALSE(http::make_client({.url = "gopher://x"}).ok());
  CHECK_FALSE(http::make_client({.url = "http://x", .bearer_token = "a\nb"}).ok());
}

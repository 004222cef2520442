#include "paths.hpp"

#include "kindlb/http/url.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::kube;

TEST_CASE("names stay one segment, whatever they hold") {
  CHECK(http::url_escaped("web-1.a_b~c") == "web-1.a_b~c");
  CHECK(http::url_escaped("a/b?c#d%e f") == "a%2Fb%3Fc%23d%25e%20f");
  CHECK(http::url_escaped("..") == "%2E%2E");
  CHECK(http::url_escaped(".") == "%2E");
  CHECK(http::url_escaped("\xC3\xA9\n") == "%C3%A9%0A");
}

TEST_CASE("targets") {
  CHECK(service_path({"kind", "default", "web"}) == "/api/v1/namespaces/default/services/web");
  CHECK(events_path("default") == "/api/v1/namespaces/default/events");
  CHECK(list_target(kNodesPath, "") == "/api/v1/nodes?limit=500");
  CHECK(list_target(kNodesPath, "a+b=") == "/api/v1/nodes?limit=500&continue=a%2Bb%3D");
  CHECK(watch_target(kServicesPath, "12", 300) ==
        "/api/v1/services?watch=1&allowWatchBookmarks=true&resourceVersion=12&timeoutSeconds=300");
  CHECK(list_target("/api/v1/pods?labelSelector=a", "") ==
        "/api/v1/pods?labelSelector=a&limit=500");
  CHECK(watch_target("/api/v1/pods?labelSelector=a", "12", 300) ==
        "/api/v1/pods?labelSelector=a&watch=1&allowWatchBookmarks=true&resourceVersion=12"
        "&timeoutSeconds=300");
}

// What is sent to the engine: bodies, queries, versions, references, endpoints.
#include "api_version.hpp"
#include "codec.hpp"
#include "http_date.hpp"
#include "image_reference.hpp"
#include "kindlb/http/url.hpp"
#include "transport.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

using namespace kindlb;
using namespace kindlb::docker;
using nlohmann::json;

TEST_CASE("every field of a container spec is in the body") {
  const ContainerSpec spec{.name = "n",
                           .image = "i:1",
                           .command = {"run", "it"},
                           .environment = {"A=b"},
                           .user = "101",
                           .labels = {{"k", "v"}},
                           .network = "kind",
                           .volumes = {{"vol", "/state"}},
                           .sysctls = {{"net.a", "1"}},
                           .capabilities_add = {"NET_ADMIN"},
                           .capabilities_drop = {"ALL"},
                           .read_only_root = true,
                           .no_new_privileges = true,
                           .init = true,
                           .memory_bytes = 1000,
                           .pids_limit = 10};
  CHECK(json::parse(encode_container(spec)) == json::parse(R"({
    "Image":"i:1","Cmd":["run","it"],"Env":["A=b"],"User":"101","Labels":{"k":"v"},
    "NetworkingConfig":{"EndpointsConfig":{"kind":{}}},
    "HostConfig":{"NetworkMode":"kind","RestartPolicy":{"Name":"no"},"ReadonlyRootfs":true,
      "CapAdd":["NET_ADMIN"],"CapDrop":["ALL"],"SecurityOpt":["no-new-privileges"],"Init":true,
      "Memory":1000,"PidsLimit":10,"Sysctls":{"net.a":"1"},
      "Mounts":[{"Type":"volume","Source":"vol","Target":"/state"}]}})"));
  CHECK(json::parse(encode_container({.name = "n", .image = "i"})) == json::parse(R"({
    "Image":"i","Env":[],"Labels":{},
    "HostConfig":{"RestartPolicy":{"Name":"no"},"ReadonlyRootfs":false,"CapAdd":[],"CapDrop":[],
      "Sysctls":{},"Mounts":[]}})"));
}

TEST_CASE("networks, volumes, execs and filters as bodies") {
  const Subnet subnet{*core::Cidr::parse("10.0.0.0/24"), core::IpAddress::parse("10.0.0.1")};
  CHECK(json::parse(encode_network({.name = "n", .subnets = {subnet}, .enable_ipv6 = true})) ==
        json::parse(R"({"Name":"n","Driver":"bridge","CheckDuplicate":true,"EnableIPv6":true,
          "Labels":{},"IPAM":{"Driver":"default",
          "Config":[{"Subnet":"10.0.0.0/24","Gateway":"10.0.0.1"}]}})"));
  CHECK(json::parse(encode_network({.name = "n"})).count("IPAM") == 0);
  CHECK(encode_volume({"v", {{"a", "b"}}}) == R"({"Labels":{"a":"b"},"Name":"v"})");
  CHECK(json::parse(encode_exec({"a", "b"}, "")) ==
        json::parse(R"({"AttachStdin":true,"AttachStdout":true,"AttachStderr":true,"Tty":false,
          "Cmd":["a","b"]})"));
  CHECK(json::parse(encode_exec({}, "0"))["User"] == "0");
  CHECK(encode_filters({{"label", {"a=b", "c"}}}) == R"({"label":["a=b","c"]})");
  CHECK(encode_filters({{"label", {}}}) == R"({"label":[]})");
  CHECK(encode_labels({{"a", "\xff"}}) == "{\"a\":\"\xef\xbf\xbd\"}");  // replaced, not thrown
}

TEST_CASE("queries are escaped") {
  CHECK(with_query("/x", {}) == "/x");
  CHECK(with_query("/x", {{"a", "b c"}, {"f", R"({"k":["v&w"]})"}}) ==
        "/x?a=b%20c&f=%7B%22k%22%3A%5B%22v%26w%22%5D%7D");
  CHECK(http::url_escaped("../\r\n\xff") == "..%2F%0D%0A%FF");
  CHECK(http::url_escaped("host:5000/a/b@sha256:1", "/:@") == "host:5000/a/b@sha256:1");
}

TEST_CASE("API versions") {
  CHECK(ApiVersion::parse("1.41") == ApiVersion{1, 41});
  CHECK(ApiVersion{1, 9} < ApiVersion{1, 10});
  CHECK(ApiVersion{1, 41}.text() == "1.41");
  for (const char* bad :
       {"", "1", "1.", ".41", "1.x", "1.41.2", "v1.41", "-1.41", "1.99999999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(ApiVersion::parse(bad));
  }
}

TEST_CASE("the highest version both sides speak") {
  struct Case {
    const char* name;
    ApiVersion oldest;
    ApiVersion newest;
    const char* outcome;  ///< a version, or a part of the error
  };
  for (const auto& [name, oldest, newest, outcome] :
       {Case{"20.10", {1, 12}, {1, 41}, "1.41"}, Case{"19.03", {1, 12}, {1, 40}, "1.40"},
        Case{"27", {1, 24}, {1, 47}, "1.47"}, Case{"29", {1, 44}, {1, 52}, "1.47"},
        Case{"podman", {1, 24}, {1, 41}, "1.41"}, Case{"18.09", {1, 12}, {1, 39}, "1.40 or newer"},
        Case{"far future", {1, 60}, {1, 70}, "upgrade kindlb"}}) {
    SUBCASE(name) {
      const auto version =
          negotiate({.version = name, .os = "linux", .newest = newest, .oldest = oldest});
      const std::string text = version ? version->text() : version.error().text();
      CHECK(text.find(outcome) != std::string::npos);
      if (!version) {
        CHECK(version.error().kind == core::ErrorKind::Invalid);
        CHECK(text.find(name) != std::string::npos);
      }
    }
  }
}

TEST_CASE("image references") {
  using Ref = ImageReference;
  CHECK(split_reference("envoy") == Ref{"envoy", "latest"});
  CHECK(split_reference("envoyproxy/envoy:v1.30") == Ref{"envoyproxy/envoy", "v1.30"});
  CHECK(split_reference("localhost:5000/envoy") == Ref{"localhost:5000/envoy", "latest"});
  CHECK(split_reference("localhost:5000/a/envoy:2") == Ref{"localhost:5000/a/envoy", "2"});
  CHECK(split_reference("envoy@sha256:12") == Ref{"envoy", "sha256:12"});
  CHECK(split_reference("envoy:v1@sha256:12") == Ref{"envoy", "sha256:12"});
  CHECK(split_reference("") == Ref{"", "latest"});
}

TEST_CASE("HTTP dates") {
  CHECK(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT") == 0);
  CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);
  for (const char* bad :
       {"", "yesterday", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 ovD 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, -6 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_http_date(bad));
  }
}

namespace {
/// The environment of one check, put back afterwards.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (const char* name : {"DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"}) {
      if (const char* old = std::getenv(name)) before_[name] = old;
      ::unsetenv(name);
    }
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const char* name : {"DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"})
      ::unsetenv(name);
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::string> before_;
};
}  // namespace

TEST_CASE("where the engine listens") {
  struct Case {
    const char* name;
    std::map<std::string, std::string> environment;
    const char* host;
    const char* url;
  };
  for (const auto& [name, environment, host, url] :
       {Case{"default", {}, "", "unix:///var/run/docker.sock"},
        Case{"environment", {{"DOCKER_HOST", "unix:///x.sock"}}, "", "unix:///x.sock"},
        Case{"asked for", {{"DOCKER_HOST", "unix:///x.sock"}}, "unix:///y.sock", "unix:///y.sock"},
        Case{"tcp", {}, "tcp://host:1234", "http://host:1234"},
        Case{"tcp without port", {}, "tcp://host/", "http://host:2375"},
        Case{"IPv6 without port", {}, "tcp://[::1]", "http://[::1]:2375"},
        Case{"http", {}, "http://host:1", "http://host:1"}}) {
    SUBCASE(name) {
      const Environment set(environment);
      const auto endpoint = find_endpoint(host);
      REQUIRE(endpoint.ok());
      CHECK(endpoint->url == url);
    }
  }
}

TEST_CASE("a place that cannot be used says what to do") {
  struct Case {
    const char* name;
    std::map<std::string, std::string> environment;
    const char* host;
    const char* advice;
  };
  for (const auto& [name, environment, host, advice] :
       {Case{"ssh", {}, "ssh://host", "ssh -nNT -L"},
        Case{"a bare path", {}, "/var/run/docker.sock", "unix:///path"},
        Case{"a relative path", {}, "unix://x", "unix:///path"},
        Case{"empty tcp", {}, "tcp://", "tcp://host:port"},
        Case{"TLS without certificates",
             {{"DOCKER_TLS_VERIFY", "1"}, {"DOCKER_CERT_PATH", "/nonexistent"}},
             "tcp://host",
             "DOCKER_CERT_PATH"}}) {
    SUBCASE(name) {
      const Environment set(environment);
      const auto endpoint = find_endpoint(host);
      REQUIRE_FALSE(endpoint.ok());
      CHECK(endpoint.error().kind == core::ErrorKind::Invalid);
      CHECK(endpoint.error().detail.find(advice) != std::string::npos);
      CHECK(endpoint.error().text().find('\n') == std::string::npos);
    }
  }
}

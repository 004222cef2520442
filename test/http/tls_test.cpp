// TLS with certificates that never touch the disk.
#include "kindlb/http/client.hpp"
#include "support/servers/certificates.hpp"
#include "support/servers/http_server.hpp"

#include <poll.h>

#include <doctest/doctest.h>

using namespace kindlb;
using core::ErrorKind;
using test::Exchange;
using test::HttpServer;

namespace {

const test::Identity& authority() {
  static const auto kIdentity = test::make_authority("test authority");
  return kIdentity;
}

test::ServerOptions serving(const std::vector<std::string>& names, std::string client_ca = {}) {
  auto [cert, key] = test::issue(authority(), "server", names);
  return {.tls = test::ServerTls{cert, key, std::move(client_ca)}};
}

void say_who(Exchange& exchange) {
  const auto& request = exchange.request();
  exchange.answer(200, "client=" + request.client_name + " sni=" + request.server_name +
                           " host=" + request.header("Host").substr(0, 9));
}

core::Result<http::Response> ask(const std::string& url, http::Tls tls) {
  auto client = http::make_client({.url = url, .tls = std::move(tls)});
  if (!client) return client.error();
  return (*client)->send({.timeout = std::chrono::seconds(10)});
}

std::string outcome(const core::Result<http::Response>& response) {
  return response ? response->body : core::name_of(response.error().kind);
}

}  // namespace

TEST_CASE("the server is verified against the CA from memory") {
  HttpServer server(say_who, serving({"IP:127.0.0.1"}));
  CHECK(outcome(ask(server.url(), {.ca_pem = authority().cert_pem})) ==
        "client= sni= host=127.0.0.1");

  const auto untrusted = test::make_authority("another authority");
  const auto refused = ask(server.url(), {.ca_pem = untrusted.cert_pem});
  CHECK(outcome(refused) == "Denied");
  CHECK(refused.error().detail.find("certificate") != std::string::npos);
  CHECK(outcome(ask(server.url(), {})) == "Denied");  // the system's store does not know it either
  CHECK(outcome(ask(server.url(), {.insecure = true})) == "client= sni= host=127.0.0.1");
}

TEST_CASE("a certificate for another name is refused, unless that name is configured") {
  HttpServer server(say_who, serving({"DNS:kubernetes"}));
  CHECK(outcome(ask(server.url(), {.ca_pem = authority().cert_pem})) == "Denied");
  CHECK(outcome(ask(server.url(), {.ca_pem = authority().cert_pem, .server_name = "kubernetes"})) ==
        "client= sni=kubernetes host=kubernete");
  CHECK(outcome(ask(server.url(), {.ca_pem = authority().cert_pem, .server_name = "other"})) ==
        "Denied");
}

TEST_CASE("a client certificate from memory opens the door") {
  HttpServer server(say_who, serving({"IP:127.0.0.1"}, authority().cert_pem));
  const auto [cert, key] = test::issue(authority(), "kindlb-user", {});
  CHECK(outcome(ask(server.url(),
                    {.ca_pem = authority().cert_pem, .cert_pem = cert, .key_pem = key})) ==
        "client=kindlb-user sni= host=127.0.0.1");
  CHECK_FALSE(ask(server.url(), {.ca_pem = authority().cert_pem}).ok());
  const auto other = test::issue(test::make_authority("another authority"), "intruder", {});
  CHECK_FALSE(
      ask(server.url(),
          {.ca_pem = authority().cert_pem, .cert_pem = other.cert_pem, .key_pem = other.key_pem})
          .ok());
}

TEST_CASE("credentials that cannot work are Invalid") {
  HttpServer server(say_who, serving({"IP:127.0.0.1"}));
  const auto [cert, key] = test::issue(authority(), "user", {});
  const auto other = test::issue(authority(), "user", {});
  const std::string broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  struct Case {
    const char* name;
    http::Tls tls;
  };
  const std::string& ca = authority().cert_pem;
  for (const auto& [name, tls] :
       {Case{"CA is no PEM", {.ca_pem = "hello"}}, Case{"CA is a broken PEM", {.ca_pem = broken}},
        Case{"certificate without key", {.ca_pem = ca, .cert_pem = cert}},
        Case{"key without certificate", {.ca_pem = ca, .key_pem = key}},
        Case{"certificate is no PEM", {.ca_pem = ca, .cert_pem = "x", .key_pem = key}},
        Case{"certificate is broken", {.ca_pem = ca, .cert_pem = broken, .key_pem = key}},
        Case{"key is no PEM", {.ca_pem = ca, .cert_pem = cert, .key_pem = "x"}},
        Case{"key of another certificate",
             {.ca_pem = ca, .cert_pem = cert, .key_pem = other.key_pem}}}) {
    CAPTURE(name);
    CHECK(outcome(ask(server.url(), tls)) == "Invalid");
  }
}

TEST_CASE("an unanswered handshake ends with the connect timeout") {
  HttpServer server(say_who);  // in the clear: it waits for the rest of a request for ever
  auto client = http::make_client({.url = "https://127.0.0.1:" + std::to_string(server.port()),
                                   .connect_timeout = std::chrono::milliseconds(200)});
  REQUIRE(client.ok());
  CHECK(outcome((*client)->send({})) == "Timeout");
}

TEST_CASE("an upgraded connection is encrypted too") {
  HttpServer server(
      [](Exchange& exchange) {
        exchange.send("HTTP/1.1 101 UPGRADED\r\n\r\n");
        for (std::string bytes; !(bytes = exchange.receive()).empty();) exchange.send(bytes);
        exchange.hang_up();
      },
      serving({"DNS:engine"}));
  auto client = http::make_client(
      {.url = server.url(), .tls = {.ca_pem = authority().cert_pem, .server_name = "engine"}});
  auto duplex = (*client)->upgrade({.method = "POST"});
  REQUIRE(duplex.ok());
  std::string back;
  REQUIRE((*duplex)->write("hello", std::chrono::seconds(5)).ok());
  char buffer[64];
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (back.size() < 5 && std::chrono::steady_clock::now() < deadline) {
    auto count = (*duplex)->read(buffer);
    REQUIRE(count.ok());
    back.append(buffer, *count);
    pollfd readable{(*duplex)->fd(), POLLIN, 0};
    if (*count == 0) ::poll(&readable, 1, 100);
  }
  CHECK(back == "hello");
}

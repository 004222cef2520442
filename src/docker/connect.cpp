#include "codec.hpp"
#include "http_engine.hpp"

#include <fmt/format.h>

namespace kindlb::docker {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

/// Long enough for an engine that systemd starts on the first connection to its socket.
constexpr std::chrono::seconds kConnectTimeout{15};

/// Return what the user can do about it. Denied on a unix socket is a matter of its permissions;
/// over TCP, Denied and Invalid come from the TLS handshake.
std::string_view advice(ErrorKind kind, bool local) {
  if (kind == ErrorKind::Denied && local)
    return "add yourself to the group docker (sudo usermod -aG docker $USER, then log in again) or "
           "run as root";
  if (kind == ErrorKind::Denied || kind == ErrorKind::Invalid)
    return "check DOCKER_CERT_PATH and its ca.pem, cert.pem and key.pem";
  return "is Docker running? Start it, or set DOCKER_HOST to its address";
}

Error unreachable(const Error& error, const http::Endpoint& endpoint) {
  const bool local = endpoint.url.starts_with("unix:");
  return {error.kind, "connect to Docker",
          fmt::format("{}; {}", error.detail, advice(error.kind, local))};
}

/// Ask for the engine's version range. The path has no version: which to use is not known yet.
Result<EngineVersion> fetch_version(http::Client& client, const http::Endpoint& endpoint) {
  auto response = client.send({.method = "GET", .target = "/version", .timeout = kConnectTimeout});
  if (!response) return unreachable(response.error(), endpoint);
  const auto version = decode_version(response->body);
  if (response->status == 200 && version) return *version;
  return Error{ErrorKind::Protocol, "connect to Docker",
               fmt::format("the server at {} is not a Docker engine (HTTP status {}); set "
                           "DOCKER_HOST to the address of the Docker engine",
                           endpoint.url, response->status)};
}

}  // namespace

Result<std::unique_ptr<Engine>> connect(const http::Endpoint& endpoint) {
  auto client = http::make_client(endpoint);
  if (!client) return unreachable(client.error(), endpoint);
  const auto engine = fetch_version(**client, endpoint);
  if (!engine) return engine.error();
  const auto version = negotiate(*engine);
  if (!version) return version.error();
  return std::unique_ptr<Engine>(std::make_unique<HttpEngine>(*std::move(client), *version));
}

}  // namespace kindlb::docker

#include "kindlb/base/environment.hpp"
#include "kindlb/docker/engine.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace kindlb::docker {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

constexpr std::string_view kDefaultHost = "unix:///var/run/docker.sock";

Error unusable(std::string_view host, std::string_view what_to_do) {
  return {ErrorKind::Invalid, "find the Docker engine",
          fmt::format("cannot use \"{}\"; {}", host, what_to_do)};
}

Result<std::string> read_pem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.fail() && !text.empty()) return text;
  return Error{ErrorKind::Invalid, "find the Docker engine",
               fmt::format("cannot read {}; set DOCKER_CERT_PATH to the directory with ca.pem, "
                           "cert.pem and key.pem, or unset DOCKER_TLS_VERIFY",
                           path)};
}

/// Read the client's credentials from where the docker CLI looks for them. All three files are
/// required: kindlb never talks to an engine over TLS without verifying it.
Result<http::Tls> client_tls() {
  std::string directory = base::environment("DOCKER_CERT_PATH");
  if (directory.empty()) directory = base::environment("HOME") + "/.docker";
  auto ca = read_pem(directory + "/ca.pem");
  if (!ca) return ca.error();
  auto cert = read_pem(directory + "/cert.pem");
  if (!cert) return cert.error();
  auto key = read_pem(directory + "/key.pem");
  if (!key) return key.error();
  return http::Tls{
      .ca_pem = *std::move(ca), .cert_pem = *std::move(cert), .key_pem = *std::move(key)};
}

/// Return whether "host:port" has a port; the colons of a bracketed IPv6 address do not count.
bool has_port(std::string_view authority) {
  const auto colon = authority.rfind(':');
  return colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
}

/// tcp://host[:port], in the clear on 2375 or, if DOCKER_TLS_VERIFY is set, with TLS on 2376.
Result<http::Endpoint> tcp_endpoint(std::string_view authority) {
  const bool tls = !base::environment("DOCKER_TLS_VERIFY").empty();
  while (authority.ends_with('/')) authority.remove_suffix(1);
  http::Endpoint endpoint;
  endpoint.url = fmt::format("{}://{}{}", tls ? "https" : "http", authority,
                             has_port(authority) ? ""
                             : tls               ? ":2376"
                                                 : ":2375");
  if (!tls) return endpoint;
  auto credentials = client_tls();
  if (!credentials) return credentials.error();
  endpoint.tls = *std::move(credentials);
  return endpoint;
}

}  // namespace

Result<http::Endpoint> find_endpoint(const std::string& host) {
  std::string where = host.empty() ? base::environment("DOCKER_HOST") : host;
  if (where.empty()) where = kDefaultHost;
  http::Endpoint plain;
  plain.url = where;
  if (where.starts_with("unix:///")) return plain;
  if (where.starts_with("tcp://") && where.size() > 6) return tcp_endpoint(where.substr(6));
  if (where.starts_with("http://")) return plain;
  if (where.starts_with("https://")) {
    auto credentials = client_tls();
    if (!credentials) return credentials.error();
    plain.tls = *std::move(credentials);
    return plain;
  }
  if (where.starts_with("ssh://"))
    return unusable(where,
                    "forward the socket instead: ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock "
                    "HOST, with DOCKER_HOST=unix:///tmp/docker.sock");
  return unusable(where, "DOCKER_HOST must be unix:///path/to/docker.sock or tcp://host:port");
}

}  // namespace kindlb::docker

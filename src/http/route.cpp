#include "route.hpp"

#include "text.hpp"

#include <sys/un.h>

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>
#include <optional>

namespace kindlb::http {

namespace {

constexpr std::string_view kUnixScheme = "unix://";

core::Error bad_endpoint(std::string_view url, std::string_view why) {
  return {core::ErrorKind::Invalid, fmt::format("use endpoint \"{}\"", url), std::string(why)};
}

struct UrlDeleter {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlDeleter>;

std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool is_host_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
}

/// The host in the URL is a placeholder: HTTP/1.1 needs a Host header, and the engine ignores it.
core::Result<Route> unix_route(const std::string& url) {
  Route route{.unix_path = url.substr(kUnixScheme.size()),
              .base_url = "http://localhost",
              .authority = "localhost",
              .prefix = {},
              .connect_to = {},
              .display_name = url};
  if (!route.unix_path.starts_with('/')) return bad_endpoint(url, "the path must be absolute");
  if (route.unix_path.size() >= sizeof(sockaddr_un::sun_path))
    return bad_endpoint(url, "the path is too long for a unix socket");
  return route;
}

std::optional<std::string> validate(const Url& url) {
  const std::string scheme = part(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return "the scheme must be unix, http or https";
  if (!part(url, CURLUPART_USER).empty())
    return "the URL must not contain a user name; use a token or a client certificate";
  if (!part(url, CURLUPART_QUERY).empty()) return "the URL must not have a query";
  return std::nullopt;
}

std::string without_trailing_slash(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

core::Result<Route> tcp_route(const Endpoint& endpoint) {
  const Url url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, endpoint.url.c_str(),
                           CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return bad_endpoint(endpoint.url, "expected a URL such as https://127.0.0.1:6443");
  if (auto invalid = validate(url)) return bad_endpoint(endpoint.url, *invalid);

  const std::string scheme = part(url, CURLUPART_SCHEME);
  const std::string host = part(url, CURLUPART_HOST);
  const std::string port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  const std::string& name = endpoint.tls.server_name;
  const bool renamed = scheme == "https" && !name.empty() && name != host;
  if (renamed && !is_host_name(name))
    return bad_endpoint(endpoint.url, "the TLS server name is not a host name");

  Route route{.unix_path = {},
              .base_url = {},
              .authority = fmt::format("{}:{}", renamed ? name : host, port),
              .prefix = without_trailing_slash(part(url, CURLUPART_PATH)),
              .connect_to = {},
              .display_name = fmt::format("{}:{}", host, port)};
  route.base_url = fmt::format("{}://{}{}", scheme, route.authority, route.prefix);
  if (renamed) route.connect_to = fmt::format("{}:{}", route.authority, route.display_name);
  return route;
}

}  // namespace

core::Result<Route> parse_route(const Endpoint& endpoint) {
  if (!is_one_line(endpoint.url)) return bad_endpoint("?", "the URL contains control characters");
  return endpoint.url.starts_with(kUnixScheme) ? unix_route(endpoint.url) : tcp_route(endpoint);
}

}  // namespace kindlb::http

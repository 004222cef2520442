#include "paths.hpp"

#include "kindlb/http/url.hpp"

#include <fmt/format.h>

namespace kindlb::kube {

namespace {
constexpr int kPageSize = 500;

/// What follows the path of a collection, which may have a selector already.
const char* separator(const std::string& path) {
  return path.find('?') == std::string::npos ? "?" : "&";
}
}  // namespace

std::string service_path(const core::ServiceKey& key) {
  return fmt::format("/api/v1/namespaces/{}/services/{}", http::url_escaped(key.ns),
                     http::url_escaped(key.name));
}

std::string events_path(const std::string& ns) {
  return fmt::format("/api/v1/namespaces/{}/events", http::url_escaped(ns));
}

std::string list_target(const std::string& path, const std::string& token) {
  auto target = fmt::format("{}{}limit={}", path, separator(path), kPageSize);
  if (!token.empty()) target += "&continue=" + http::url_escaped(token);
  return target;
}

std::string watch_target(const std::string& path, const std::string& resource_version,
                         int timeout_seconds) {
  return fmt::format("{}{}watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                     path, separator(path), http::url_escaped(resource_version), timeout_seconds);
}

}  // namespace kindlb::kube

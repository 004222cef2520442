#include "paths.hpp"

#include <fmt/format.h>

namespace kindlb::kube {

namespace {
constexpr int kPageSize = 500;
constexpr std::string_view kUnreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
}  // namespace

std::string escaped(std::string_view text) {
  if (text == "." || text == "..") return text.size() == 1 ? "%2E" : "%2E%2E";
  std::string out;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string service_path(const core::ServiceKey& key) {
  return fmt::format("/api/v1/namespaces/{}/services/{}", escaped(key.ns), escaped(key.name));
}

std::string events_path(const std::string& ns) {
  return fmt::format("/api/v1/namespaces/{}/events", escaped(ns));
}

std::string list_target(const std::string& path, const std::string& token) {
  auto target = fmt::format("{}?limit={}", path, kPageSize);
  if (!token.empty()) target += "&continue=" + escaped(token);
  return target;
}

std::string watch_target(const std::string& path, const std::string& resource_version,
                         int timeout_seconds) {
  return fmt::format("{}?watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                     path, escaped(resource_version), timeout_seconds);
}

}  // namespace kindlb::kube

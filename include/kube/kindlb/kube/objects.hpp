#pragma once
// Objects of the API as JSON, by their paths: for callers to whom an object is a document rather
// than one of the few that kindlb itself acts on. Each call blocks; all may be called from many
// threads, and a stop request ends them.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/http/client.hpp"
#include "kindlb/http/url.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <stop_token>
#include <string>

namespace kindlb::kube {

class Objects {
 public:
  virtual ~Objects() = default;

  virtual core::Result<nlohmann::json> get(const std::string& path, std::stop_token stop = {}) = 0;
  /// The body as it is, for what is not JSON: version, logs, the proxy to a pod.
  virtual core::Result<std::string> text(const std::string& path, std::stop_token stop = {}) = 0;
  /// `path`: of the collection. Gives the object as the server keeps it: what it dropped is
  /// missing.
  virtual core::Result<nlohmann::json> create(const std::string& path, const nlohmann::json& object,
                                              std::stop_token stop = {}) = 0;
  /// A JSON merge patch: null removes, lists are replaced.
  virtual core::Result<nlohmann::json> patch(const std::string& path, const nlohmann::json& changes,
                                             std::stop_token stop = {}) = 0;
  /// In the background, as kubectl does with --wait=false. What is gone counts as success.
  virtual core::Result<void> remove(const std::string& path, std::stop_token stop = {}) = 0;
  /// Without the time that pods are given to end. A collection with a labelSelector: all of these.
  virtual core::Result<void> remove_now(const std::string& path) = 0;
};

std::shared_ptr<Objects> make_objects(std::shared_ptr<http::Client> client);

/// The Service in a document of the API.
core::Result<core::Service> service_from(const nlohmann::json& object);

}  // namespace kindlb::kube

#pragma once
// Objects of the API as JSON, by their paths: for the demo and the conformance suite, which create
// and inspect objects that kindlb itself never acts on. Names in a path must be escaped by the
// caller (http::url_escaped). Each call blocks; all may be called from many threads, and a stop
// request ends them with Cancelled.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/http/client.hpp"
#include "kindlb/http/url.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::kube {

/// Receives the objects of a collection, on the thread that calls Objects::watch().
class ObjectObserver {
 public:
  virtual ~ObjectObserver() = default;
  /// All objects there are: once at the beginning, and again whenever the watch could not go on
  /// where it ended (410, a broken connection). Versions from before a list may be missing.
  virtual void listed(const std::vector<nlohmann::json>& all) = 0;
  /// One version, directly after the one that was received before.
  virtual void changed(const nlohmann::json& object) = 0;
  virtual void deleted(const nlohmann::json& object) = 0;
  /// A list or watch failed and will be retried; or, with success, a list is complete again.
  virtual void watch_state(const core::Result<void>& state) = 0;
};

/// Thread-safe. Any answer that is not 2xx is an Error whose detail is the server's own message.
class Objects {
 public:
  virtual ~Objects() = default;

  virtual core::Result<nlohmann::json> get(const std::string& path, std::stop_token stop = {}) = 0;
  /// Return the body as it is, for what is not JSON: logs, the proxy to a pod.
  virtual core::Result<std::string> text(const std::string& path, std::stop_token stop = {}) = 0;
  /// Create `object` in the collection at `path`. Return it as the server keeps it: fields the
  /// server does not know are missing.
  virtual core::Result<nlohmann::json> create(const std::string& path, const nlohmann::json& object,
                                              std::stop_token stop = {}) = 0;
  /// Send a JSON merge patch: null removes a field, lists are replaced as a whole.
  virtual core::Result<nlohmann::json> patch(const std::string& path, const nlohmann::json& changes,
                                             std::stop_token stop = {}) = 0;
  /// Send a strategic merge patch, as `kubectl apply` does: lists of a Service's ports are merged
  /// by port.
  virtual core::Result<nlohmann::json> strategic_patch(const std::string& path,
                                                       const nlohmann::json& changes,
                                                       std::stop_token stop = {}) = 0;
  /// Send a server-side apply, as `kubectl apply --server-side` does: a field that another manager
  /// owns with another value is a Conflict.
  virtual core::Result<nlohmann::json> apply(const std::string& path, const nlohmann::json& object,
                                             const std::string& manager,
                                             std::stop_token stop = {}) = 0;
  /// List the collection at `path`, which may end with a labelSelector, and watch it until a stop
  /// is requested.
  virtual void watch(const std::string& path, ObjectObserver& observer,
                     const std::stop_token& stop) = 0;
  /// Delete in the background, as kubectl does with --wait=false. An object that does not exist
  /// counts as success.
  virtual core::Result<void> remove(const std::string& path, std::stop_token stop = {}) = 0;
  /// Delete without a grace period for pods. `path` may be a collection with a labelSelector: then
  /// everything it selects is deleted.
  virtual core::Result<void> remove_now(const std::string& path) = 0;
};

std::shared_ptr<Objects> make_objects(std::shared_ptr<http::Client> client);

/// Decode a Service; its key has no cluster.
core::Result<core::Service> service_from(const nlohmann::json& object);

}  // namespace kindlb::kube

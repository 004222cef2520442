#pragma once
// The verbs of the API over the store: what may be written, by whom it was written, and what else
// happens when it is. Knows nothing of HTTP. Safe from any thread.

#include "json.hpp"
#include "kindlb/apiserver/feature_gates.hpp"
#include "service/allocators.hpp"
#include "status_error.hpp"
#include "storage/store.hpp"
#include "verbs/selectors.hpp"

#include <string>
#include <vector>

namespace kindlb::apiserver {

struct WriteOptions {
  std::string manager = "unknown";
  std::string subresource;  ///< "status", or empty
  bool dry_run = false;
  bool force = false;   ///< server-side apply takes fields over
  bool strict = false;  ///< unknown fields are errors
};

struct DeleteOptions {
  std::string uid;               ///< precondition; empty: none
  std::string resource_version;  ///< precondition; empty: none
  bool dry_run = false;
};

enum class PatchType { JsonPatch, MergePatch, Strategic, Apply };

struct WriteResult {
  ObjectPtr object;
  bool created = false;
  std::vector<std::string> warnings;
};

class Api {
 public:
  struct Options {
    FeatureGates gates;
    std::vector<core::Cidr> service_ranges;  ///< one or two, of different families
    std::size_t history = 4096;
  };
  /// With the namespaces every cluster has.
  explicit Api(const Options& options);

  Store& store() { return store_; }

  ApiResult<ObjectPtr> get(const Resource& resource, const ObjectKey& key) const;
  ApiResult<WriteResult> create(const Resource& resource, const std::string& ns, const Json& sent,
                                const WriteOptions& options);
  ApiResult<WriteResult> update(const Resource& resource, const ObjectKey& key, const Json& sent,
                                const WriteOptions& options);
  ApiResult<WriteResult> patch(const Resource& resource, const ObjectKey& key, PatchType type,
                               const Json& patch, const WriteOptions& options);
  /// The object, with a deletionTimestamp if finalizers keep it; its last state if it is gone.
  ApiResult<ObjectPtr> remove(const Resource& resource, const ObjectKey& key,
                              const DeleteOptions& options);

  /// Replaces everything by what a file held.
  void restore(const std::vector<std::pair<const Resource*, Json>>& objects, Revision revision);

 private:
  ApiResult<Json> decoded(const Resource& resource, const Json& sent, const WriteOptions& options,
                          std::vector<std::string>& warnings) const;
  void record_managed_fields(const Resource& resource, const Json* before, Json& object,
                             const WriteOptions& options) const;
  std::optional<StatusError> validate_namespace(const Resource& resource,
                                                const std::string& ns) const;
  ApiResult<Edit> prepare_create(const Resource& resource, const std::string& ns, Json object,
                                 const WriteOptions& options, bool applied);
  ApiResult<Edit> prepare_update(const Resource& resource, const Object& current, Json object,
                                 const WriteOptions& options, bool applied);
  ApiResult<Edit> prepare_patch(const Resource& resource, const ObjectPtr& current,
                                const ObjectKey& key, PatchType type, const Json& patch,
                                const WriteOptions& options, WriteResult& out);
  ApiResult<Edit> prepare_apply(const Resource& resource, const ObjectPtr& current,
                                const ObjectKey& key, const Json& config,
                                const WriteOptions& options, WriteResult& out);
  Edit prepare_removal(const Resource& resource, const Json& object);
  ApiResult<WriteResult> write(const Resource& resource, const ObjectKey& key,
                               const WriteOptions& options, const Store::Editor& editor,
                               WriteResult out);
  void delete_namespace_content(const std::string& ns);
  void finalize_namespace_if_empty(const std::string& ns);

  const FeatureGates gates_;
  Store store_;
  Allocators allocators_;
};

}  // namespace kindlb::apiserver

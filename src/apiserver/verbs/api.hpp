#pragma once
// The verbs of the API on top of the store, which kube-apiserver calls the registry: decoding,
// defaulting, managed fields, allocation, validation, finalizers and the deletion of namespaces.
// Knows nothing of HTTP.
//
// A write is prepared as an Edit while the store holds its lock. Allocations of a Service are made
// during preparation and become final in Edit::on_commit; if preparation fails or the request is a
// dry run, the transaction's destructor undoes them. Thread-safe; the allocators are guarded by the
// store's lock.

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
  std::string manager = "unknown";  ///< fieldManager
  std::string subresource;          ///< "status", or empty
  bool dry_run = false;
  bool force = false;   ///< server-side apply: take over fields of other managers
  bool strict = false;  ///< fieldValidation=Strict: unknown fields are errors
};

struct DeleteOptions {
  std::string uid;               ///< precondition; empty: none
  std::string resource_version;  ///< precondition; empty: none
  bool dry_run = false;
};

enum class PatchType { JsonPatch, MergePatch, Strategic, Apply };

struct WriteResult {
  ObjectPtr object;  ///< as stored, or as it would be stored by a dry run
  bool created = false;
  std::vector<std::string> warnings;  ///< for Warning headers: unknown fields
};

class Api {
 public:
  struct Options {
    FeatureGates gates;
    std::vector<core::Cidr> service_ranges;  ///< one or two, of different families
    std::size_t history = 4096;
  };
  /// Create the namespaces that every cluster has, and the Service default/kubernetes.
  explicit Api(const Options& options);

  Store& store() { return store_; }

  ApiResult<ObjectPtr> get(const Resource& resource, const ObjectKey& key) const;
  ApiResult<WriteResult> create(const Resource& resource, const std::string& ns, const Json& sent,
                                const WriteOptions& options);
  ApiResult<WriteResult> update(const Resource& resource, const ObjectKey& key, const Json& sent,
                                const WriteOptions& options);
  ApiResult<WriteResult> patch(const Resource& resource, const ObjectKey& key, PatchType type,
                               const Json& patch, const WriteOptions& options);
  /// Delete an object. Return its last state; or the object with a deletionTimestamp if it has
  /// finalizers, whose removal by an update then deletes it.
  ApiResult<ObjectPtr> remove(const Resource& resource, const ObjectKey& key,
                              const DeleteOptions& options);

  /// Replace all objects by those of a state file, and rebuild the allocations from its Services.
  void restore(std::vector<std::pair<const Resource*, Json>> objects, Revision revision);

 private:
  /// Check apiVersion, kind and field types; drop unknown fields with a warning.
  ApiResult<Json> decoded(const Resource& resource, const Json& sent, const WriteOptions& options,
                          std::vector<std::string>& warnings) const;
  /// Default the object, then assign the changed fields to the manager. This order matters: a
  /// client owns what it set and the defaults of that, but not what is allocated later.
  void record_managed_fields(const Resource& resource, const Json* before, Json& object,
                             const WriteOptions& options) const;
  std::optional<StatusError> validate_namespace(const Resource& resource,
                                                const std::string& ns) const;
  // These run under the store's lock. `applied`: managedFields are up to date already.
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
  /// What the namespace controller does in a cluster: delete the content, then the namespace.
  /// Objects with finalizers keep it Terminating until the last of them is gone.
  void delete_namespace_content(const std::string& ns);
  void finalize_namespace_if_empty(const std::string& ns);

  const FeatureGates gates_;
  Store store_;
  Allocators allocators_;
};

}  // namespace kindlb::apiserver

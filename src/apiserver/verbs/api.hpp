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

struct Written {
  ObjectPtr object;
  bool created = false;
  std::vector<std::string> warnings;
};

class Api {
 public:
  struct Options {
    FeatureGates gates;
    std::vector<core::Cidr> service_ranges;  ///< one or two, of different families
    std::size_t window = 4096;
  };
  /// With the namespaces every cluster has.
  explicit Api(const Options& options);

  Store& store() { return store_; }

  Outcome<ObjectPtr> get(const Resource& resource, const ObjectKey& key) const;
  Outcome<Written> create(const Resource& resource, const std::string& ns, const Json& sent,
                          const WriteOptions& options);
  Outcome<Written> update(const Resource& resource, const ObjectKey& key, const Json& sent,
                          const WriteOptions& options);
  Outcome<Written> patch(const Resource& resource, const ObjectKey& key, PatchType type,
                         const Json& patch, const WriteOptions& options);
  /// The object, with a deletionTimestamp if finalizers keep it; its last state if it is gone.
  Outcome<ObjectPtr> remove(const Resource& resource, const ObjectKey& key,
                            const DeleteOptions& options);

  /// Replaces everything by what a file held.
  void restore(const std::vector<std::pair<const Resource*, Json>>& objects, Revision revision);

 private:
  Outcome<Json> decoded(const Resource& resource, const Json& sent, const WriteOptions& options,
                        std::vector<std::string>& warnings) const;
  void book(const Resource& resource, const Json* before, Json& object,
            const WriteOptions& options) const;
  std::optional<Refusal> check_namespace(const Resource& resource, const std::string& ns) const;
  Outcome<Edit> created(const Resource& resource, const std::string& ns, Json object,
                        const WriteOptions& options, bool applied);
  Outcome<Edit> updated(const Resource& resource, const Object& current, Json object,
                        const WriteOptions& options, bool applied);
  Outcome<Edit> patched(const Resource& resource, const ObjectPtr& current, const ObjectKey& key,
                        PatchType type, const Json& patch, const WriteOptions& options,
                        Written& out);
  Outcome<Edit> applied(const Resource& resource, const ObjectPtr& current, const ObjectKey& key,
                        const Json& config, const WriteOptions& options, Written& out);
  Edit removal(const Resource& resource, const Json& object);
  Outcome<Written> write(const Resource& resource, const ObjectKey& key,
                         const WriteOptions& options, const Store::Editor& editor, Written out);
  void empty_namespace(const std::string& ns);
  void end_namespace_if_empty(const std::string& ns);

  const FeatureGates gates_;
  Store store_;
  Pools pools_;
};

}  // namespace kindlb::apiserver

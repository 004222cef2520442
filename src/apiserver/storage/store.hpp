#pragma once
// The storage of the API server: etcd and the watch cache in one. It knows no API semantics: a
// write is an Editor that the store calls under its lock with the current object, so that nothing
// comes between reading and writing (as GuaranteedUpdate, but without retries).
//
// Invariants:
// - One counter numbers all changes of all resources, as etcd's revision does. An object's
//   resourceVersion is the revision of its last change.
// - Each resource keeps its latest changes in ascending order of revision: a watch resumes from
//   them, and a list at an older revision is reconstructed from them. Older changes are compacted;
//   asking for them yields "expired", which clients see as 410 Gone.
// - Objects are immutable once stored. Readers share them and need no lock after the call.
//
// Thread-safe. The mutex is recursive because an Editor may read the store and on_commit may write.

#include "json.hpp"
#include "schema/resources.hpp"
#include "status_error.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

using Revision = std::uint64_t;

struct Object {
  Json value;
  std::string text;  ///< `value` as JSON: serialized once, sent to every list and watch
  Revision revision = 0;
};
using ObjectPtr = std::shared_ptr<const Object>;

/// Namespace (empty for cluster-scoped resources) and name. Lists are sorted by it, as keys in
/// etcd.
struct ObjectKey {
  std::string ns;
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

/// One entry of the history.
struct Change {
  Revision revision = 0;
  ObjectKey key;
  ObjectPtr before;  ///< null: created
  ObjectPtr after;   ///< null: deleted
  ObjectPtr last;    ///< if deleted: its last state with the revision of the deletion
};

/// What a write does to the object under its key.
struct Edit {
  enum class Kind { Put, Remove, Keep };
  Kind kind = Kind::Keep;
  Json value;                       ///< for Put; for Remove: what the client gets, null for `last`
  std::function<void()> on_commit;  ///< called after the change, under the lock
};

/// A consistent list: the state of all objects at `revision`.
struct Listing {
  Revision revision = 0;
  std::vector<ObjectPtr> objects;
};

class Store {
 public:
  using Editor = std::function<ApiResult<Edit>(const ObjectPtr& current)>;

  /// Keep at most `history_limit` changes of each resource, and at most `bytes` of their JSON.
  explicit Store(std::size_t history_limit = 4096, std::size_t bytes = std::size_t{32} << 20U);

  Revision revision() const;
  /// Null: not found.
  ObjectPtr get(const Resource& resource, const ObjectKey& key) const;
  /// List one namespace, or all if `ns` is empty.
  Listing list(const Resource& resource, const std::string& ns) const;
  /// List as of `revision`. Nothing: compacted, or in the future.
  std::optional<Listing> list_at(const Resource& resource, const std::string& ns,
                                 Revision revision) const;

  /// Read, edit and write one object atomically. Return the object after the edit, or its last
  /// state if it was removed. `editor` may read the store and must not write to it. Fails with the
  /// editor's error, or with 413 if the object is larger than etcd would accept.
  ApiResult<ObjectPtr> write(const Resource& resource, const ObjectKey& key, const Editor& editor);
  /// Run `body` under the lock, so that its reads and writes are one atomic step.
  void transact(const std::function<void()>& body);

  struct Changes {
    std::vector<Change> changes;
    Revision up_to = 0;  ///< pass this as `after` to the next call
    bool expired = false;
  };
  /// Return the changes after `after`, at most `limit`. Block until there is one, wake() is called
  /// or the deadline passes. `expired`: changes after `after` were compacted, or `after` is in the
  /// future, as after a restart with an older state file.
  Changes wait(const Resource& resource, Revision after,
               std::chrono::steady_clock::time_point deadline,
               std::size_t limit = std::numeric_limits<std::size_t>::max()) const;
  /// Block until any resource changes after `after`, wake() is called or the deadline passes.
  void wait_for_any(Revision after, std::chrono::steady_clock::time_point deadline) const;
  /// Make all blocked calls return: for stopping, and for dropping watches.
  void wake();

  struct Snapshot {
    Revision revision = 0;
    std::vector<std::pair<const Resource*, ObjectPtr>> objects;
  };
  /// All objects, for the state file. restore() replaces all objects and compacts the whole
  /// history, so that every watch expires and relists.
  Snapshot snapshot() const;
  void restore(const std::vector<std::pair<const Resource*, Json>>& objects, Revision revision);

 private:
  /// The objects of one resource and their history.
  struct Collection {
    std::map<ObjectKey, ObjectPtr> objects;
    std::deque<Change> history;
    std::size_t bytes = 0;   ///< of JSON in the history
    Revision compacted = 0;  ///< the newest revision that was dropped
  };

  /// Carry out an edit. REQUIRES: the lock, and that `current` is what the key holds.
  ApiResult<ObjectPtr> commit(const Resource& resource, const ObjectKey& key,
                              const ObjectPtr& current, Edit& edit);
  /// Append to the history, make its revision the current one, and compact what exceeds the limits.
  void record(Collection& collection, Change change);
  Collection& collection_of(const Resource& resource);
  const Collection& collection_of(const Resource& resource) const;

  const std::size_t history_limit_;
  const std::size_t history_bytes_;
  mutable std::recursive_mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::vector<Collection> collections_;  ///< in the order of resources()
  Revision revision_ = 1;                ///< of the last change; zero means "any" in the API
  /// Counts wake(), so that a wait that began before a call notices it.
  std::uint64_t wakes_ = 0;
};

}  // namespace kindlb::apiserver

#pragma once
// The objects and what happened to them lately. One counter numbers every change, as etcd's does;
// each resource keeps a window of its changes, from which watches continue and older lists are
// reconstructed. What a change may be is decided elsewhere: the store asks for an edit under its
// lock, so that nothing comes between reading and writing.
// Safe from any thread. Objects are immutable once stored and are shared, never copied.

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
  std::string text;  ///< value as JSON: made once, sent many times
  Revision revision = 0;
};
using ObjectPtr = std::shared_ptr<const Object>;

/// Namespace (empty for what has none) and name: lists come in this order.
struct ObjectKey {
  std::string ns;
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

struct Change {
  Revision revision = 0;
  ObjectKey key;
  ObjectPtr before;  ///< null: it was created
  ObjectPtr after;   ///< null: it is gone
  ObjectPtr last;    ///< when gone: its last state, with the version of its end
};

/// What a write makes of an object.
struct Edit {
  enum class Kind { Put, Remove, Keep };
  Kind kind = Kind::Keep;
  Json value;                       ///< for Put; for Remove: what the writer is told, or null
  std::function<void()> on_commit;  ///< called once the edit is in, still under the lock
};

struct Listing {
  Revision revision = 0;
  std::vector<ObjectPtr> objects;
};

class Store {
 public:
  using Editor = std::function<ApiResult<Edit>(const ObjectPtr& current)>;

  /// `window`, `bytes`: how many changes each resource remembers at most, and of what size
  /// together.
  explicit Store(std::size_t history_limit = 4096, std::size_t bytes = std::size_t{32} << 20U);

  Revision revision() const;
  /// Null: not there.
  ObjectPtr get(const Resource& resource, const ObjectKey& key) const;
  /// Of one namespace, or of all when `ns` is empty.
  Listing list(const Resource& resource, const std::string& ns) const;
  /// As it was at `revision`; nothing when that is beyond the window or in the future.
  std::optional<Listing> list_at(const Resource& resource, const std::string& ns,
                                 Revision revision) const;

  /// The object after the edit: new, kept, or its last state if it was removed. `editor` may read
  /// the store. An object that became too large is refused (413).
  ApiResult<ObjectPtr> write(const Resource& resource, const ObjectKey& key, const Editor& editor);
  /// Several reads and writes as one: nobody else writes while `body` runs.
  void transact(const std::function<void()>& body);

  struct Changes {
    std::vector<Change> changes;
    Revision up_to = 0;  ///< everything until here is told
    bool expired = false;
  };
  /// What happened after `after`, at once if there is something, else when there is, somebody is
  /// woken, or at the deadline. At most `limit` of it: the rest is there for the next call.
  Changes wait(const Resource& resource, Revision after,
               std::chrono::steady_clock::time_point deadline,
               std::size_t limit = std::numeric_limits<std::size_t>::max()) const;
  /// Until anything at all is newer than `after`, somebody is woken, or the deadline.
  void wait_for_any(Revision after, std::chrono::steady_clock::time_point deadline) const;
  /// Makes everybody who waits look again.
  void wake();

  struct Snapshot {
    Revision revision = 0;
    std::vector<std::pair<const Resource*, ObjectPtr>> objects;
  };
  /// Everything, and back: for files of state. `restore` replaces all and forgets the history.
  Snapshot snapshot() const;
  void restore(const std::vector<std::pair<const Resource*, Json>>& objects, Revision revision);

 private:
  struct Collection {
    std::map<ObjectKey, ObjectPtr> objects;
    std::deque<Change> history;
    std::size_t bytes = 0;   ///< of the texts in the history
    Revision compacted = 0;  ///< the newest change that is no longer in the history
  };

  ApiResult<ObjectPtr> commit(const Resource& resource, const ObjectKey& key,
                              const ObjectPtr& current, Edit& edit);
  void record(Collection& collection, Change change);
  Collection& collection_of(const Resource& resource);
  const Collection& collection_of(const Resource& resource) const;

  const std::size_t history_limit_;
  const std::size_t history_bytes_;
  mutable std::recursive_mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::vector<Collection> collections_;  ///< in the order of resources()
  Revision revision_ = 1;
  std::uint64_t wakes_ = 0;
};

}  // namespace kindlb::apiserver

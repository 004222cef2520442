#include "storage/store.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace kindlb::apiserver {

namespace {
using Lock = std::unique_lock<std::recursive_mutex>;

/// etcd's default limit of a request.
constexpr std::size_t kMaxObject = 3U << 19U;

StatusError object_too_large() {
  return {
      .code = 413,
      .reason = "RequestEntityTooLarge",
      .message = "Request entity too large: limit of an object is " + std::to_string(kMaxObject)};
}

/// What a change costs in the history: earlier states are shared with earlier changes.
std::size_t size_of(const Change& change) {
  return (change.after != nullptr ? change.after : change.last)->text.size();
}

/// The resourceVersion is part of the object, so every stored state is serialized anew.
ObjectPtr make_object(Json value, Revision revision) {
  value["metadata"]["resourceVersion"] = std::to_string(revision);
  auto text = dump(value);
  return std::make_shared<const Object>(Object{std::move(value), std::move(text), revision});
}

std::size_t index_of(const Resource& resource) {
  return static_cast<std::size_t>(&resource - resources().data());
}

bool in_namespace(const ObjectKey& key, const std::string& ns) {
  return ns.empty() || key.ns == ns;
}

/// Keys are sorted by namespace first: those of one namespace are adjacent.
template <typename Map>
std::vector<ObjectPtr> values_of(const Map& objects, const std::string& ns) {
  std::vector<ObjectPtr> out;
  for (auto it = objects.lower_bound({ns, ""}); it != objects.end(); ++it) {
    if (!in_namespace(it->first, ns)) break;
    out.push_back(it->second);
  }
  return out;
}
}  // namespace

Store::Store(std::size_t history_limit, std::size_t bytes)
    : history_limit_(history_limit), history_bytes_(bytes), collections_(resources().size()) {}

Store::Collection& Store::collection_of(const Resource& resource) {
  return collections_[index_of(resource)];
}

const Store::Collection& Store::collection_of(const Resource& resource) const {
  return collections_[index_of(resource)];
}

Revision Store::revision() const {
  const Lock lock(mutex_);
  return revision_;
}

ObjectPtr Store::get(const Resource& resource, const ObjectKey& key) const {
  const Lock lock(mutex_);
  const auto& objects = collection_of(resource).objects;
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

Listing Store::list(const Resource& resource, const std::string& ns) const {
  const Lock lock(mutex_);
  return {revision_, values_of(collection_of(resource).objects, ns)};
}

std::optional<Listing> Store::list_at(const Resource& resource, const std::string& ns,
                                      Revision revision) const {
  const Lock lock(mutex_);
  const auto& from = collection_of(resource);
  if (revision < from.compacted || revision > revision_) return std::nullopt;
  auto objects = from.objects;
  // Undo the later changes, newest first. Copying the map copies pointers, not objects.
  for (const auto& change : from.history | std::views::reverse) {
    if (change.revision <= revision) break;
    if (change.before == nullptr)
      objects.erase(change.key);
    else
      objects[change.key] = change.before;
  }
  return Listing{revision, values_of(objects, ns)};
}

ApiResult<ObjectPtr> Store::write(const Resource& resource, const ObjectKey& key,
                                  const Editor& editor) {
  const Lock lock(mutex_);
  const auto current = get(resource, key);
  auto edit = editor(current);
  if (!edit) return edit.error();
  return commit(resource, key, current, *edit);
}

void Store::transact(const std::function<void()>& body) {
  const Lock lock(mutex_);
  body();
}

ApiResult<ObjectPtr> Store::commit(const Resource& resource, const ObjectKey& key,
                                   const ObjectPtr& current, Edit& edit) {
  // A write that changes nothing gets no revision: watches must not see it.
  if (edit.kind == Edit::Kind::Keep) return current;
  auto& collection = collection_of(resource);
  const auto revision = revision_ + 1;
  ObjectPtr result;
  if (edit.kind == Edit::Kind::Put) {
    result = make_object(std::move(edit.value), revision);
    if (result->text.size() > kMaxObject) return object_too_large();
    collection.objects[key] = result;
    record(collection, {revision, key, current, result, nullptr});
  } else {
    // DELETED events carry the revision of the deletion, so that a watch can resume after it.
    const auto last = make_object(current->value, revision);
    collection.objects.erase(key);
    record(collection, {revision, key, current, nullptr, last});
    result = edit.value.is_null() ? last : make_object(std::move(edit.value), revision);
  }
  // After the change is visible: on_commit may write on top of it, as the end of a namespace does.
  if (edit.on_commit) edit.on_commit();
  changed_.notify_all();
  return result;
}

void Store::record(Collection& collection, Change change) {
  revision_ = change.revision;
  collection.bytes += size_of(change);
  collection.history.push_back(std::move(change));
  while (collection.history.size() > history_limit_ || collection.bytes > history_bytes_) {
    collection.compacted = collection.history.front().revision;
    collection.bytes -= size_of(collection.history.front());
    collection.history.pop_front();
  }
}

Store::Changes Store::wait(const Resource& resource, Revision after,
                           std::chrono::steady_clock::time_point deadline,
                           std::size_t limit) const {
  Lock lock(mutex_);
  const auto& collection = collection_of(resource);
  // Reports 410 also for the future: such a client knows a state that this server never had.
  const auto gone = [&] { return after < collection.compacted || after > revision_; };
  const auto news = [&] {
    return !collection.history.empty() && collection.history.back().revision > after;
  };
  changed_.wait_until(lock, deadline,
                      [&, wakes = wakes_] { return gone() || news() || wakes_ != wakes; });
  if (gone()) return {{}, after, true};
  const auto first =
      std::upper_bound(collection.history.begin(), collection.history.end(), after,
                       [](Revision wanted, const Change& c) { return wanted < c.revision; });
  const auto available = static_cast<std::size_t>(collection.history.end() - first);
  if (available <= limit) return {{first, collection.history.end()}, revision_, false};
  const auto last = first + static_cast<std::ptrdiff_t>(limit);
  return {{first, last}, std::prev(last)->revision, false};
}

void Store::wait_for_any(Revision after, std::chrono::steady_clock::time_point deadline) const {
  Lock lock(mutex_);
  changed_.wait_until(lock, deadline,
                      [&, wakes = wakes_] { return revision_ > after || wakes_ != wakes; });
}

void Store::wake() {
  const Lock lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

Store::Snapshot Store::snapshot() const {
  const Lock lock(mutex_);
  Snapshot out{revision_, {}};
  for (const auto& resource : resources())
    for (const auto& [key, object] : collection_of(resource).objects)
      out.objects.emplace_back(&resource, object);
  return out;
}

void Store::restore(const std::vector<std::pair<const Resource*, Json>>& objects,
                    Revision revision) {
  const Lock lock(mutex_);
  // Never backwards: clients may hold revisions of the state that is replaced.
  revision_ = std::max(revision, revision_);
  for (auto& each : collections_)
    each = {.objects = {}, .history = {}, .bytes = 0, .compacted = revision_};
  for (const auto& [resource, value] : objects) {
    const auto version = text_at(value, {"metadata", "resourceVersion"});
    // Keep resourceVersions from the file, so that clients that survived the restart still match.
    const auto own = std::strtoull(version.c_str(), nullptr, 10);
    const ObjectKey key{text_at(value, {"metadata", "namespace"}),
                        text_at(value, {"metadata", "name"})};
    collection_of(*resource).objects[key] = make_object(value, std::min<Revision>(own, revision_));
  }
  changed_.notify_all();
}

}  // namespace kindlb::apiserver

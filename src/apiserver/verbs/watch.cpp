#include "verbs/watch.hpp"

#include "serializer/table.hpp"

#include <fmt/format.h>

#include <utility>

namespace kindlb::apiserver {

namespace {
using namespace std::chrono_literals;

/// How long next() blocks before the caller checks whether its client is still connected.
constexpr auto kMaxQuiet = 250ms;
constexpr auto kBookmarkInterval = 60s;
/// Limits of one chunk, so that a client that reads slowly holds little memory.
constexpr std::size_t kMaxChangesPerChunk = 128;
constexpr std::size_t kMaxChunkBytes = 256U << 10U;

/// One line of the stream, as metav1.WatchEvent.
std::string encode_event(const char* type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}
}  // namespace

WatchStream::WatchStream(Store& store, FaultInjector& faults, WatchOptions options)
    : store_(store),
      faults_(faults),
      options_(std::move(options)),
      watch_drops_(faults.watch_drops()),
      deadline_(Clock::now() + options_.timeout),
      next_bookmark_(Clock::now() + kBookmarkInterval) {
  start();
}

bool WatchStream::selects(const Object& object) const {
  return (options_.ns.empty() || text_at(object.value, {"metadata", "namespace"}) == options_.ns) &&
         options_.labels.matches(map_at(object.value, {"metadata", "labels"})) &&
         options_.fields.matches(object.value);
}

void WatchStream::start() {
  if (options_.after && !options_.initial_events) {
    position_ = *options_.after;
    return;
  }
  // List and position come from one call: no change can fall between them.
  auto now = store_.list(*options_.resource, options_.ns);
  position_ = now.revision;
  initial_ = std::move(now.objects);
  std::erase_if(initial_, [this](const ObjectPtr& object) { return !selects(*object); });
  mark_initial_end_ = options_.initial_events;
}

std::string WatchStream::next_initial_events() {
  std::string out;
  // Release each object once it is sent: a large list does not stay in memory for a slow client.
  while (initial_sent_ < initial_.size() && out.size() < kMaxChunkBytes)
    append_event(out, "ADDED", *std::exchange(initial_[initial_sent_++], nullptr));
  if (initial_sent_ < initial_.size()) return out;
  initial_.clear();
  initial_sent_ = 0;
  if (std::exchange(mark_initial_end_, false)) append_bookmark(out, true);
  return out;
}

void WatchStream::append_event(std::string& out, const char* type, const Object& object) const {
  out += encode_event(type, options_.as_table
                                ? dump(to_table(*options_.resource, {&object.value, 1}, ""))
                                : object.text);
}

void WatchStream::append_change(std::string& out, const Change& change) const {
  // What a change means to this watch depends on whether the object was selected before and after
  // it: an object that enters or leaves the selection is ADDED or DELETED for this client.
  const bool before = change.before != nullptr && selects(*change.before);
  const bool after = change.after != nullptr && selects(*change.after);
  if (after) {
    append_event(out, before ? "MODIFIED" : "ADDED", *change.after);
  } else if (before && change.after == nullptr) {
    append_event(out, "DELETED", *change.last);
  } else if (before) {
    // Changed so that it is no longer selected: DELETED for this watch, with the last state that
    // was selected and the current resourceVersion.
    Json last = change.before->value;
    last["metadata"]["resourceVersion"] = std::to_string(change.revision);
    auto text = dump(last);
    append_event(out, "DELETED", {std::move(last), std::move(text), change.revision});
  }
}

void WatchStream::append_bookmark(std::string& out, bool end_of_initial) {
  Json object{{"kind", options_.resource->kind},
              {"apiVersion", options_.resource->api_version()},
              {"metadata",
               {{"resourceVersion", std::to_string(position_)}, {"creationTimestamp", nullptr}}}};
  // KEP-3157: tells the client that it has seen everything that existed when the watch began.
  if (end_of_initial) object["metadata"]["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  out += encode_event("BOOKMARK", dump(object));
  next_bookmark_ = Clock::now() + kBookmarkInterval;
}

std::optional<std::string> WatchStream::next(const std::stop_token& stop) {
  const auto now = Clock::now();
  // Also when watches were dropped: see FaultInjector::drop_watches().
  if (ended_ || stop.stop_requested() || now >= deadline_ || faults_.watch_drops() != watch_drops_)
    return std::nullopt;
  if (!initial_.empty() || mark_initial_end_) return next_initial_events();
  const auto batch = store_.wait(*options_.resource, position_,
                                 std::min(deadline_, now + kMaxQuiet), kMaxChangesPerChunk);
  std::string out;
  if (batch.expired) {
    ended_ = true;
    const auto error =
        expired(fmt::format("too old resource version: {} ({})", position_, store_.revision()));
    return encode_event("ERROR", dump(to_status(error)));
  }
  position_ = batch.up_to;
  for (const auto& change : batch.changes) {
    append_change(out, change);
    // The chunk is full: the rest of the batch is read again by the next call.
    if (out.size() < kMaxChunkBytes) continue;
    position_ = change.revision;
    break;
  }
  if (options_.bookmarks && Clock::now() >= next_bookmark_) append_bookmark(out, false);
  return out;
}

}  // namespace kindlb::apiserver

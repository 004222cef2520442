#include "verbs/watch.hpp"

#include "serializer/table.hpp"

#include <fmt/format.h>

#include <utility>

namespace kindlb::apiserver {

namespace {
using namespace std::chrono_literals;

/// How long a lull may last before the caller looks whether its client is still there.
constexpr auto kMoment = 250ms;
constexpr auto kBookmarkEvery = 60s;
/// What is made at a time: objects, and bytes.
constexpr std::size_t kPieceChanges = 128;
constexpr std::size_t kPieceBytes = 256U << 10U;

std::string line(const char* type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}
}  // namespace

WatchStream::WatchStream(Store& store, Faults& faults, WatchPlan plan)
    : store_(store),
      faults_(faults),
      plan_(std::move(plan)),
      dropped_(faults.dropped()),
      end_(Clock::now() + plan_.timeout),
      next_bookmark_(Clock::now() + kBookmarkEvery) {
  begin();
}

bool WatchStream::selects(const Object& object) const {
  return (plan_.ns.empty() || text_at(object.value, {"metadata", "namespace"}) == plan_.ns) &&
         plan_.labels.matches(map_at(object.value, {"metadata", "labels"})) &&
         plan_.fields.matches(object.value);
}

void WatchStream::begin() {
  if (plan_.after && !plan_.initial_events) {
    position_ = *plan_.after;
    return;
  }
  auto now = store_.list(*plan_.resource, plan_.ns);
  position_ = now.revision;
  initial_ = std::move(now.objects);
  std::erase_if(initial_, [this](const ObjectPtr& object) { return !selects(*object); });
  mark_initial_ = plan_.initial_events;
}

std::string WatchStream::tell_initial() {
  std::string out;
  while (told_ < initial_.size() && out.size() < kPieceBytes)
    tell(out, "ADDED", *std::exchange(initial_[told_++], nullptr));
  if (told_ < initial_.size()) return out;
  initial_.clear();
  told_ = 0;
  if (std::exchange(mark_initial_, false)) tell_bookmark(out, true);
  return out;
}

void WatchStream::tell(std::string& out, const char* type, const Object& object) const {
  out += line(
      type, plan_.as_table ? dump(to_table(*plan_.resource, {&object.value, 1}, "")) : object.text);
}

void WatchStream::tell_change(std::string& out, const Change& change) const {
  const bool before = change.before != nullptr && selects(*change.before);
  const bool after = change.after != nullptr && selects(*change.after);
  if (after) {
    tell(out, before ? "MODIFIED" : "ADDED", *change.after);
  } else if (before && change.after == nullptr) {
    tell(out, "DELETED", *change.last);
  } else if (before) {
    // Out of the selection is gone, as far as this watch is concerned: as it was, but with the
    // version of now.
    Json last = change.before->value;
    last["metadata"]["resourceVersion"] = std::to_string(change.revision);
    auto text = dump(last);
    tell(out, "DELETED", {std::move(last), std::move(text), change.revision});
  }
}

void WatchStream::tell_bookmark(std::string& out, bool end_of_initial) {
  Json object{{"kind", plan_.resource->kind},
              {"apiVersion", plan_.resource->api_version()},
              {"metadata",
               {{"resourceVersion", std::to_string(position_)}, {"creationTimestamp", nullptr}}}};
  if (end_of_initial) object["metadata"]["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  out += line("BOOKMARK", dump(object));
  next_bookmark_ = Clock::now() + kBookmarkEvery;
}

std::optional<std::string> WatchStream::next(const std::stop_token& stop) {
  const auto now = Clock::now();
  if (over_ || stop.stop_requested() || now >= end_ || faults_.dropped() != dropped_)
    return std::nullopt;
  if (!initial_.empty() || mark_initial_) return tell_initial();
  const auto news =
      store_.wait(*plan_.resource, position_, std::min(end_, now + kMoment), kPieceChanges);
  std::string out;
  if (news.expired) {
    over_ = true;
    const auto refusal =
        expired(fmt::format("too old resource version: {} ({})", position_, store_.revision()));
    return line("ERROR", dump(to_status(refusal)));
  }
  position_ = news.up_to;
  for (const auto& change : news.changes) {
    tell_change(out, change);
    if (out.size() < kPieceBytes) continue;
    position_ = change.revision;
    break;
  }
  if (plan_.bookmarks && Clock::now() >= next_bookmark_) tell_bookmark(out, false);
  return out;
}

}  // namespace kindlb::apiserver

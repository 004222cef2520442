// Lists and watch events: what the API wraps around objects. Both are parsed with a callback that
// drops managedFields as they are read, so that they never cost memory.

#include "codec.hpp"
#include "kindlb/json/json.hpp"
#include "status.hpp"

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Parse = Json::parse_event_t;

bool is_managed_fields(Parse event, const Json& parsed) {
  return event == Parse::key && parsed == "managedFields";
}

/// Parser callback that passes on the elements of the top-level list "items" as they are completed
/// and makes the parser discard each at once. Depths: 1 is inside the list object, 2 inside an
/// item.
class ItemStream {
 public:
  explicit ItemStream(const std::function<void(const Json&)>& item) : item_(item) {}

  bool operator()(int depth, Parse event, const Json& parsed) {
    if (event == Parse::key && depth == 1) in_items_ = parsed == "items";
    if (is_managed_fields(event, parsed)) return false;
    if (event != Parse::object_end || depth != 2 || !in_items_) return true;
    item_(parsed);
    return false;
  }

 private:
  const std::function<void(const Json&)>& item_;
  bool in_items_ = false;
};

std::optional<EventKind> kind_named(const std::string& type) {
  if (type == "ADDED") return EventKind::Added;
  if (type == "MODIFIED") return EventKind::Modified;
  if (type == "DELETED") return EventKind::Deleted;
  if (type == "BOOKMARK") return EventKind::Bookmark;
  return std::nullopt;
}

Error protocol_error(const char* operation, std::string detail) {
  return {ErrorKind::Protocol, operation, std::move(detail)};
}
}  // namespace

Json parse_json(std::string_view text) {
  return json::parse_bounded(
      text, [](int, Parse event, const Json& parsed) { return !is_managed_fields(event, parsed); });
}

Result<Page> decode_page(std::string_view text, const std::function<void(const Json&)>& item) {
  ItemStream items(item);
  const auto json = json::parse_bounded(text, [&](int depth, Parse event, const Json& parsed) {
    return items(depth, event, parsed);
  });
  if (json.is_discarded()) return protocol_error("read list", "not JSON");
  Problem problem;
  const Reader list(json, problem);
  const auto meta = list.object("metadata");
  Page page{meta.required("resourceVersion"), meta.text("continue")};
  // Items that are objects were passed on and discarded; anything still in there is an error.
  list.each("items", [](const Reader&) {});
  if (problem.text) return protocol_error("read list", *problem.text);
  return page;
}

Result<EventHead> decode_event(std::string_view line,
                               const std::function<void(EventKind, const Json&)>& object) {
  const auto json = parse_json(line);
  if (json.is_discarded()) return protocol_error("read watch event", "not JSON");
  Problem problem;
  const Reader event(json, problem);
  const auto type = event.required("type");
  const auto body = event.object("object");
  if (problem.text) return protocol_error("read watch event", *problem.text);
  if (!event.has("object")) return protocol_error("read watch event", "object: missing");
  if (type == "ERROR") return error_of_status(json["object"], "watch");
  const auto kind = kind_named(type);
  if (!kind) return protocol_error("read watch event", "type: '" + type + "' is not known");
  EventHead head{*kind, body.object("metadata").required("resourceVersion")};
  if (problem.text) return protocol_error("read watch event", *problem.text);
  if (*kind != EventKind::Bookmark) object(*kind, json["object"]);
  return head;
}

}  // namespace kindlb::kube

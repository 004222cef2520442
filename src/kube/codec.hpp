#pragma once
// JSON of the Kubernetes API into core values. Strict about the types of the fields we look at,
// indifferent to all others. Never throws, whatever the input; a field of another type or an
// enumerator nobody has heard of is a Protocol error that names it.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/json/reader.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::kube {

using json::Json;
using json::Problem;
using json::Reader;

/// Parses without throwing and without keeping `managedFields`, often the larger half of an object.
/// What cannot be parsed is a discarded value.
Json parse_json(std::string_view text);

struct ObjectName {
  std::string ns;  ///< empty for Nodes
  std::string name;

  bool operator==(const ObjectName&) const = default;
};
core::Result<ObjectName> decode_name(const Json& object);

core::Result<core::Service> decode_service(const Json& object, const std::string& cluster);
/// Nothing: a slice that serves no Service (no label) or holds host names.
core::Result<std::optional<core::EndpointSlice>> decode_slice(const Json& object,
                                                              const std::string& cluster);
core::Result<core::Node> decode_node(const Json& object);

/// The same for callers that want to know which field the problem is in. With one, the value is
/// what could be read.
core::Service read_service(const Json& object, const std::string& cluster, Problem& problem);
std::optional<core::EndpointSlice> read_slice(const Json& object, const std::string& cluster,
                                              Problem& problem);
core::Node read_node(const Json& object, Problem& problem);

/// What a list answers besides its items.
struct Page {
  std::string resource_version;
  std::string continue_token;  ///< empty: this was the last page

  bool operator==(const Page&) const = default;
};
/// Calls `item` for each element while parsing: only one of them is held as JSON at any time.
core::Result<Page> decode_page(std::string_view text, const std::function<void(const Json&)>& item);

enum class EventKind { Added, Modified, Deleted, Bookmark };
struct EventHead {
  EventKind kind = EventKind::Bookmark;
  std::string resource_version;

  bool operator==(const EventHead&) const = default;
};
/// One line of a watch. `object` is called for all but bookmarks. An ERROR event is an error here,
/// its kind by its code (410: Expired).
core::Result<EventHead> decode_event(std::string_view line,
                                     const std::function<void(EventKind, const Json&)>& object);

}  // namespace kindlb::kube

#pragma once
// Decodes JSON of the Kubernetes API into core values. Strict about the types of the fields we look
// at, indifferent to all others, so that new API versions do not break it. Never throws, whatever
// the input; a field of another type or an unknown enumerator is a Protocol error that names the
// field. Pure.

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

/// Parse without throwing and without keeping `managedFields`, often the larger half of an object.
/// Text that is not JSON, or is nested deeper than json::parse_bounded() allows, is a discarded
/// value.
Json parse_json(std::string_view text);

struct ObjectName {
  std::string ns;  ///< empty for Nodes
  std::string name;

  bool operator==(const ObjectName&) const = default;
};
/// Return only the name: enough for a deletion, whatever the rest of the object looks like.
core::Result<ObjectName> decode_name(const Json& object);

core::Result<core::Service> decode_service(const Json& object, const std::string& cluster);
/// Return nothing for a slice that belongs to no Service (no kubernetes.io/service-name label) or
/// that holds host names (addressType FQDN).
core::Result<std::optional<core::EndpointSlice>> decode_slice(const Json& object,
                                                              const std::string& cluster);
core::Result<core::Node> decode_node(const Json& object);

/// The same for callers that need to know which field is wrong (manifest.cpp points at its line).
/// When `problem` is set, the value holds what could be read.
core::Service read_service(const Json& object, const std::string& cluster, Problem& problem);
std::optional<core::EndpointSlice> read_slice(const Json& object, const std::string& cluster,
                                              Problem& problem);
core::Node read_node(const Json& object, Problem& problem);

/// The metadata of one page of a list.
struct Page {
  std::string resource_version;  ///< of the whole list: where a watch continues
  std::string continue_token;    ///< empty: this was the last page

  bool operator==(const Page&) const = default;
};
/// Call `item` for each element while parsing: only one of them is held as JSON at any time, so
/// that a page of 500 large Services does not cost a tree of all of them. Items are reported even
/// if the page later turns out to be malformed; the caller discards them then.
core::Result<Page> decode_page(std::string_view text, const std::function<void(const Json&)>& item);

enum class EventKind { Added, Modified, Deleted, Bookmark };
struct EventHead {
  EventKind kind = EventKind::Bookmark;
  std::string resource_version;

  bool operator==(const EventHead&) const = default;
};
/// Decode one line of a watch. `object` is called for all but bookmarks, which carry nothing but a
/// resourceVersion. An ERROR event becomes an Error of the kind its code stands for (410: Expired):
/// that is how a server reports an expired version after it has answered 200.
core::Result<EventHead> decode_event(std::string_view line,
                                     const std::function<void(EventKind, const Json&)>& object);

}  // namespace kindlb::kube

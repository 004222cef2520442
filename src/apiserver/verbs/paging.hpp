#pragma once
// Chunked lists (limit and continue). A continue token holds the revision of the first page and the
// key of its last object, so that all pages show the same revision. When that revision has been
// compacted, the client gets 410 and starts again.

#include "status_error.hpp"
#include "storage/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct PageRequest {
  std::size_t limit = 0;             ///< zero: no limit
  std::optional<Revision> revision;  ///< of the first page
  ObjectKey after;                   ///< the last object of the previous page

  static ApiResult<PageRequest> parse(const std::string& limit, const std::string& token);
};

struct Page {
  std::vector<ObjectPtr> objects;
  Revision revision = 0;
  std::string token;          ///< empty: this is the last page
  std::size_t remaining = 0;  ///< remainingItemCount; zero: not reported
};

/// Cut the requested page out of `objects`, which are sorted by key and as of `revision`.
Page paginate(std::vector<ObjectPtr> objects, const PageRequest& request, Revision revision);
/// Return the page as a List, or as a meta.k8s.io/v1 Table.
std::string encode_list(const Page& page, const Resource& resource);
std::string encode_table(const Page& page, const Resource& resource);

}  // namespace kindlb::apiserver

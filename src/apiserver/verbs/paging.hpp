#pragma once
// Lists in pieces: limit and continue. A token names the version of the first page and where the
// next one begins, so all pages show one moment.

#include "status_error.hpp"
#include "storage/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct PageRequest {
  std::size_t limit = 0;             ///< zero: everything
  std::optional<Revision> revision;  ///< of the first page
  ObjectKey after;                   ///< the last object that was told

  static ApiResult<PageRequest> parse(const std::string& limit, const std::string& token);
};

struct Page {
  std::vector<ObjectPtr> objects;
  Revision revision = 0;
  std::string token;  ///< empty: this is the last page
  std::size_t remaining = 0;
};

Page paginate(std::vector<ObjectPtr> objects, const PageRequest& request, Revision revision);
std::string encode_list(const Page& page, const Resource& resource);
std::string encode_table(const Page& page, const Resource& resource);

}  // namespace kindlb::apiserver

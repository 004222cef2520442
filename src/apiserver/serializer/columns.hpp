#pragma once
// Which columns each resource shows, and how each cell is made.

#include "json.hpp"
#include "schema/resources.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct Column {
  const char* name;
  bool wide;  ///< only with -o wide
  std::function<std::string(const Json&)> cell;
};

const std::vector<Column>& columns_of(const Resource& resource);

}  // namespace kindlb::apiserver

#pragma once
// The columns that `kubectl get` prints for each resource, as kube-apiserver's printers define
// them.

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

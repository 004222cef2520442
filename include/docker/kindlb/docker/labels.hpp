#pragma once
// Labels as the engine keeps them on containers, networks, images and volumes. Where a list call
// takes `labels`, each is "key" or "key=value", and all must match.

#include <map>
#include <string>

namespace kindlb::docker {

using Labels = std::map<std::string, std::string>;

}  // namespace kindlb::docker

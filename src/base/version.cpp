#include "kindlb/base/version.hpp"

namespace kindlb::base {

// The only source that sees KINDLB_VERSION: a new version recompiles this file and no other.
const std::string& version() {
  static const std::string kVersion = KINDLB_VERSION;
  return kVersion;
}

}  // namespace kindlb::base

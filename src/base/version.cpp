#include "kindlb/base/version.hpp"

namespace kindlb::base {

// The only source that sees KINDLB_VERSION: a new version recompiles this file and no other.
const std::string& version() {
  static const std::string text = KINDLB_VERSION;
  return text;
}

}  // namespace kindlb::base

#pragma once
// All units that the container's network namespace must serve at one moment: the committed ones and
// those that requests are about to put in their place. A view: valid until either changes.

#include "committed_units.hpp"
#include "requests.hpp"

#include <vector>

namespace kindlb::agent {

struct WantedUnits {
  std::vector<const CommittedUnit*> committed;  ///< CommittedUnits::served()
  std::vector<const Request*> requested;        ///< Requests::installed()
};

}  // namespace kindlb::agent

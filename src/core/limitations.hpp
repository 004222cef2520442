#pragma once
// What a verdict is made of, while it is being made.

#include "kindlb/core/verdict.hpp"

#include <string>
#include <vector>

namespace kindlb::core {

/// Something that cannot be had. In parts, since what is served instead must not be told of a
/// Service that is refused.
struct Limitation {
  std::string feature;  ///< as in Reason
  std::string reason;
  std::string what;     ///< names the field and the value
  std::string instead;  ///< what a degraded Service gets
  std::string remedy;
};

/// What must be refused whatever the Service requires is kept apart.
struct Limitations {
  std::vector<Limitation> degradable;
  std::vector<Limitation> fatal;
};

/// Which ports are opened: `can` says which protocols, how many, and which together.
void evaluate_ports(const Service& service, const Capabilities& can, Verdict& verdict,
                    Limitations& limitations);

}  // namespace kindlb::core

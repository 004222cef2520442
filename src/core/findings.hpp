#pragma once
// What a verdict is made of, while it is being made.

#include "kindlb/core/verdict.hpp"

#include <vector>

namespace kindlb::core {

/// What must be refused whatever the Service requires is kept apart.
struct Findings {
  std::vector<Reason> degradable;
  std::vector<Reason> fatal;
};

/// Which ports are opened: `can` says which protocols, how many, and which together.
void judge_ports(const Service& service, const Capabilities& can, Verdict& verdict,
                 Findings& findings);

}  // namespace kindlb::core

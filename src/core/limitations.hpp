#pragma once
// The intermediate result of evaluate(): what cannot be provided, and why. Private to core.

#include "kindlb/core/verdict.hpp"

#include <string>
#include <vector>

namespace kindlb::core {

/// Something that cannot be provided. Kept in parts, because `instead` must not appear in the
/// message of a refused Service.
struct Limitation {
  std::string feature;  ///< as in Reason
  std::string reason;
  std::string what;     ///< names the field and the value
  std::string instead;  ///< what a degraded Service gets
  std::string remedy;
  /// This very spec is being served already, by the word of an earlier release: it stays degraded
  /// even if the feature is required.
  bool granted = false;
};

/// Degradable limitations become fatal when the Service requires the feature; others always are.
struct Limitations {
  std::vector<Limitation> degradable;
  std::vector<Limitation> fatal;
};

/// Decide which ports are opened, given which protocols, how many, and which combinations `can`
/// allows.
void evaluate_ports(const Service& service, const Capabilities& can, Verdict& verdict,
                    Limitations& limitations);

/// Decide on the timeout of a Service with session affinity. `observed`: kindlb.dev/observed has
/// the hash of this very spec.
void evaluate_affinity_timeout(const Service& service, bool observed, Limitations& limitations);

}  // namespace kindlb::core

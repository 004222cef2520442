// sessionAffinityConfig.clientIP.timeoutSeconds (docs/contract.md §3).
#include "limitations.hpp"

namespace kindlb::core {

namespace {

/// What an API server fills in where a Service gives no timeout; so this value is no request.
constexpr int kDefaultAffinitySeconds = 10'800;

}  // namespace

/// The proxy finds a client's endpoint by a hash of the client's address and remembers nothing, so
/// there is no time after which the client would be forgotten. Earlier releases served any value:
/// what they gave an address is not refused before it changes, since an upgrade cuts no connection.
void evaluate_affinity_timeout(const Service& service, bool observed, Limitations& limitations) {
  const auto seconds = service.spec.affinity_seconds;
  if (seconds == 0 || seconds == kDefaultAffinitySeconds) return;
  limitations.degradable.push_back(
      {.feature = "SessionAffinity",
       .reason = "SessionAffinityNotSupported",
       .what = "spec.sessionAffinityConfig.clientIP.timeoutSeconds is " + std::to_string(seconds) +
               ", and session affinity has no timeout here",
       .instead = "a client keeps its endpoint however long it is idle",
       .remedy = "remove the field",
       .granted = observed && !service.status.ingress.empty()});
}

}  // namespace kindlb::core

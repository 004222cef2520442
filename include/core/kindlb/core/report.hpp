#pragma once
// What kindlb last reported of a Service, and what the API shows of it. The two differ where a
// server does not keep what is written (a feature gate that is off, an older version, a webhook),
// and with --conditions off, where conditions are not written at all. Pure.
//
// The status is kindlb's memory of how far it is. So decisions look at the Service as it was
// reported (as_reported), and only the question whether to write looks at what the API shows:
//  - What was sent is not sent again while the API shows what it answered to it, whatever that is.
//    So it does not matter which fields a server drops.
//  - After a new listing of the cluster's Services it is sent once more if it is not shown
//    completely, because the server may have been upgraded meanwhile (`retry`).
//  - After a restart there is no report. Then a Service that is marked as ours and has an address
//    counts as served.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/service.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

struct Report {
  StatusApply meant;   ///< complete, also with what is not written or not kept
  StatusApply shown;   ///< our fields as the API shows them since
  bool retry = false;  ///< the server may keep more by now: write it once more

  bool operator==(const Report&) const = default;
};

/// Return the fields we own on the Service as they are now, in the form of a write.
StatusApply owned_fields(const Service& service);

/// Return the Service with the status that was reported of it. `now` is the time of conditions that
/// are derived because nothing else is known of them.
Service as_reported(Service service, const std::optional<Report>& report, Timestamp now);

/// Return what is written of `meant`: without conditions if the policy says so.
StatusApply written_form(StatusApply meant, const Policy& policy);

/// Return whether `meant` must be written for the API to show as much of it as it can.
bool must_write(const StatusApply& meant, const Service& service,
                const std::optional<Report>& report, const Policy& policy);

/// Return whether clients are told the same by both: what a server does not keep (ports, ipMode) is
/// no difference.
bool same_ingress(const std::vector<Ingress>& shown, const std::vector<Ingress>& meant);

/// Name the fields of a write that the API does not show afterwards, for the log.
std::string not_kept(const StatusApply& sent, const StatusApply& shown);

}  // namespace kindlb::core

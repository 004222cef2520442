#pragma once
// Which requests share an update of Envoy, and which cannot be part of any. Pure.
//
// Envoy takes one inotify instance per endpoint file and aborts (RELEASE_ASSERT) when the kernel
// grants none, so a snapshot beyond the watch limit must never be written.

#include "envoy/xds.hpp"
#include "requests.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

/// What an update would add to.
struct WatchBudget {
  const XdsSnapshot& published;  ///< what Envoy's files hold
  std::size_t limit = 0;         ///< how many endpoint files Envoy can watch
};

/// Return why the requests together would exceed the watch limit, if they would. While a cluster is
/// replaced, the old one and the warming one each watch an endpoint file: a changed cluster counts
/// twice.
std::optional<std::string> watch_limit_problem(const std::vector<const Request*>& requests,
                                               const WatchBudget& budget);

/// Return those of the queued requests that share the next update, in order of arrival: as many as
/// the watch limit allows. One that exceeds the limit by itself is returned alone, to be rejected.
/// A request that must be alone is.
std::vector<const Request*> next_batch(const std::vector<const Request*>& queued,
                                       const WatchBudget& budget);

struct Unacceptable {
  RequestKey request = 0;
  std::string why;

  bool operator==(const Unacceptable&) const = default;
};

/// Return the requests of a batch that cannot be in a snapshot: too many files, or a resource name
/// that another unit uses. `others`: what the units that the batch does not replace contribute.
std::vector<Unacceptable> find_unacceptable(const std::vector<const Request*>& batch,
                                            XdsSnapshot others, const WatchBudget& budget);

}  // namespace kindlb::agent

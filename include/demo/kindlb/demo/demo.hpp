#pragma once
// `kindlb demo`: shows in a running sandbox what load balancers and their conditions do. Everything
// it shows it learns as any client could: by watching the API, and by connecting to the addresses
// in the Services' status.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/sandbox/session.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

namespace kindlb::demo {

struct Settings {
  std::string script;        ///< "conditions"; empty: show the examples
  std::optional<int> pause;  ///< seconds between steps; unset: until Enter on a terminal, else none
  bool once = false;         ///< exit when everything has been shown, also on a terminal
};

/// Show the examples, or play the script; return the exit code of the process.
/// `started`: when the command began, for the times that are shown. Blocks until the show is over
/// or stopped; 1 means that a Service did not settle or did not answer although it claims to serve.
core::Result<int> show(const Settings& settings, const core::Policy& policy,
                       sandbox::Session& session, std::chrono::steady_clock::time_point started,
                       const std::stop_token& stop);

}  // namespace kindlb::demo

#pragma once
// `kindlb demo`: shows in a running sandbox what load balancers and their conditions do.

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
  std::optional<int> pause;  ///< seconds between steps; nothing: Enter on a terminal, else none
  bool once = false;         ///< leave when everything has been shown
};

/// Show the examples, or play the script; return the exit code of the process.
/// `started`: when the command began, for the times that are shown.
core::Result<int> show(const Settings& settings, const core::Policy& policy,
                       sandbox::Session& session, std::chrono::steady_clock::time_point started,
                       const std::stop_token& stop);

}  // namespace kindlb::demo

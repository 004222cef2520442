#pragma once
// What several sub-commands begin with.

#include "kindlb/controller/provider.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/sandbox/session.hpp"
#include "options.hpp"
#include "stop_signal.hpp"

#include <chrono>
#include <memory>

namespace kindlb::app {

/// Removing dozens of containers takes a busy engine a while.
inline constexpr std::chrono::seconds kSandboxCleanupTimeout{60};

/// One line on standard error; the exit code for it.
int report_error(const core::Error& error);

controller::ProviderSettings provider_settings(const Options& options);
sandbox::Session::Options session_options(const Options& options);
/// Let the session see Ctrl-C, and clean up before a second one ends the process.
sandbox::Stop session_stop(StopSignal& stop);

/// Null after a complaint.
std::unique_ptr<docker::Engine> connect_engine(const Options& options);

}  // namespace kindlb::app

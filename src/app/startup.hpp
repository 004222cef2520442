#pragma once
// What several commands start with: the engine, settings from flags, and how errors are reported.

#include "kindlb/controller/provider.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/sandbox/session.hpp"
#include "options.hpp"
#include "stop_signal.hpp"

#include <chrono>
#include <memory>

namespace kindlb::app {

/// How long an orderly end of a sandbox may take: a busy engine needs a while to remove dozens of
/// containers.
inline constexpr std::chrono::seconds kSandboxCleanupTimeout{60};

/// Print "kindlb: OPERATION: DETAIL" as one line on standard error, and return the exit code 2. The
/// detail of an error that a user can fix says how.
int report_error(const core::Error& error);

controller::ProviderSettings provider_settings(const Options& options);
sandbox::Session::Options session_options(const Options& options);
/// Connect a sandbox to the signals: it sees Ctrl-C, and cleans up before a second one ends the
/// process. `stop` must outlive the session.
sandbox::Stop session_stop(StopSignal& stop);

/// Connect to the Docker engine; return null after reporting why that failed.
std::unique_ptr<docker::Engine> connect_engine(const Options& options);

}  // namespace kindlb::app

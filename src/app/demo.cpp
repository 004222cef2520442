// `kindlb demo`: a sandbox, and a show of what happens in it.

#include "kindlb/demo/demo.hpp"

#include "commands.hpp"
#include "startup.hpp"

#include <chrono>

namespace kindlb::app {

int demo(const Options& options) {
  const auto started = std::chrono::steady_clock::now();
  StopSignal stop(kSandboxCleanupTimeout);
  const auto session = sandbox::Session::make(session_options(options), session_stop(stop));
  if (!session) return stop.token().stop_requested() ? 0 : report_error(session.error());
  const auto code = demo::show(options.demo, options.policy, **session, started, stop.token());
  return code ? *code : report_error(code.error());
}

}  // namespace kindlb::app

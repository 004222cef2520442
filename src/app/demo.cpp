// `kindlb demo`: a sandbox, and what there is to see in it.

#include "kindlb/demo/demo.hpp"

#include "commands.hpp"
#include "startup.hpp"

#include <chrono>

namespace kindlb::app {

namespace {
constexpr std::chrono::seconds kRemovalPatience{60};
}  // namespace

int demo(const Options& options) {
  const auto started = std::chrono::steady_clock::now();
  StopSignal stop(kRemovalPatience);
  const auto session = sandbox::Session::make(session_options(options), session_stop(stop));
  if (!session) return stop.token().stop_requested() ? 0 : complain(session.error());
  const auto code = demo::show(options.demo, options.policy, **session, started, stop.token());
  return code ? *code : complain(code.error());
}

}  // namespace kindlb::app

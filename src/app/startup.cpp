#include "startup.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/log/log.hpp"
#include "memory.hpp"

#include <cstdio>
#include <utility>

namespace kindlb::app {

int report_error(const core::Error& error) {
  const auto line = base::printable(error.operation + ": " + error.detail);
  std::fprintf(stderr, "kindlb: %s\n", line.c_str());
  return 2;
}

/// Pages that only the start needed are released when the provider reports that its start is over.
controller::ProviderSettings provider_settings(const Options& options) {
  return {.policy = options.policy,
          .profile = options.profile,
          .warm_proxies = options.warm_proxies,
          .services_per_proxy = options.services_per_proxy,
          .envoy_image = options.envoy_image,
          .agent_binary = options.agent_binary,
          .delete_on_exit = options.on_exit == OnExit::Delete,
          .on_started_up = release_startup_pages};
}

sandbox::Session::Options session_options(const Options& options) {
  return {.sandbox = static_cast<const sandbox::Settings&>(options.sandbox),
          .provider = provider_settings(options),
          .docker_host = options.docker_host};
}

sandbox::Stop session_stop(StopSignal& stop) {
  return {.token = stop.token(), .before_forced_exit = [&stop](std::function<void()> action) {
            stop.before_forced_exit(std::move(action));
          }};
}

/// connect() checks the API version, so an engine that is too old fails here and not in the middle.
std::unique_ptr<docker::Engine> connect_engine(const Options& options) {
  const auto endpoint = docker::find_endpoint(options.docker_host);
  if (!endpoint.ok()) {
    report_error(endpoint.error());
    return nullptr;
  }
  auto engine = docker::connect(*endpoint);
  if (!engine.ok()) {
    report_error(engine.error());
    return nullptr;
  }
  if (const auto info = (*engine)->system().info(); info.ok())
    log::debug("docker engine {} (API {})", info->version, info->api_version);
  return std::move(*engine);
}

}  // namespace kindlb::app

#include "kindlb/controller/provider.hpp"

#include "controller.hpp"
#include "fleet/docker_proxy_host.hpp"
#include "kindlb/base/version.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/image.hpp"

#include <filesystem>
#include <utility>

namespace kindlb::controller {

namespace {
std::string agent_path(const ProviderSettings& settings) {
  if (!settings.agent_binary.empty()) return settings.agent_binary;
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / "kindlb-agent").string();
}
}  // namespace

core::Result<std::string> proxy_image(docker::Images& images, const ProviderSettings& settings,
                                      const std::stop_token& stop) {
  return proxy::ensure_proxy_image(
      images, settings.envoy_image, agent_path(settings),
      [](std::string_view line) { log::info("{}", line); }, stop);
}

void provide(docker::Engine& engine, const std::string& image, const ProviderSettings& settings,
             std::optional<GivenCluster> only, const std::stop_token& stop) {
  if (settings.profile != "full")
    log::info("profile {}: limiting capabilities to its set", settings.profile);
  Options options;
  options.policy = settings.policy;
  options.fleet.warm_proxies = settings.warm_proxies;
  options.fleet.services_per_proxy = settings.services_per_proxy;
  options.delete_on_exit = settings.delete_on_exit;
  options.on_started_up = settings.on_started_up;
  options.only = std::move(only);
  // A provider that serves every kind cluster has the unnamed pool; one for a single cluster has
  // its own, so that both can run on one engine.
  const auto pool = options.only ? options.only->name : std::string();
  DockerProxyHost host(engine, image, pool);
  Controller controller(engine, host, std::move(options));
  log::info("kindlb {} is running; press Ctrl-C to stop it", base::version());
  controller.run(stop);
}

}  // namespace kindlb::controller

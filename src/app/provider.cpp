#include "app/provider.hpp"

#include "app/memory.hpp"
#include "kindlb/base/version.hpp"
#include "kindlb/controller/docker_proxy_host.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/image.hpp"

#include <filesystem>
#include <utility>

namespace kindlb::app {

namespace {
std::string agent_path(const Options& options) {
  if (!options.agent_binary.empty()) return options.agent_binary;
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / "kindlb-agent").string();
}
}  // namespace

core::Result<std::string> proxy_image(docker::Engine& engine, const Options& options,
                                      const std::stop_token& stop) {
  return proxy::ensure_proxy_image(
      engine, options.envoy_image, agent_path(options),
      [](std::string_view line) { log::info("{}", line); }, stop);
}

void provide(docker::Engine& engine, const std::string& image, const Options& options,
             std::optional<controller::GivenCluster> only, const std::stop_token& stop) {
  if (options.profile != "full") log::info("doing no more than profile {}", options.profile);
  controller::Options wanted;
  wanted.policy = options.policy;
  wanted.fleet.warm_proxies = options.warm_proxies;
  wanted.fleet.services_per_proxy = options.services_per_proxy;
  wanted.delete_on_exit = options.on_exit == OnExit::Delete;
  wanted.settled = release_startup_pages;
  wanted.only = std::move(only);
  // The pool of whoever serves every kind cluster has no name.
  const auto pool = wanted.only ? wanted.only->name : std::string();
  controller::DockerProxyHost host(engine, image, pool);
  controller::Controller controller(engine, host, std::move(wanted));
  log::info("kindlb {} is running; Ctrl-C stops it", base::version());
  controller.run(stop);
}

}  // namespace kindlb::app

#include "app/memory.hpp"
#include "app/startup.hpp"
#include "app/stop_signal.hpp"
#include "kindlb/app/commands.hpp"
#include "kindlb/controller/controller.hpp"
#include "kindlb/controller/docker_proxy_host.hpp"
#include "kindlb/kube/api.hpp"
#include "kindlb/kube/config.hpp"
#include "kindlb/proxy/image.hpp"

#include <unistd.h>

#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>
#include <utility>

namespace kindlb::app {

namespace {

/// Ctrl-C ends kindlb within a second; letting every Service go first takes what it takes.
constexpr std::chrono::milliseconds kPatience{800};
constexpr std::chrono::seconds kDrainPatience{25};

std::string agent_path(const Options& options) {
  if (!options.agent_binary.empty()) return options.agent_binary;
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / "kindlb-agent").string();
}

/// The cluster named on the command line, proven to let us in.
core::Result<controller::GivenCluster> given_cluster(const Options& options) {
  auto access = kube::load_kubeconfig(options.kubeconfig, options.context);
  if (!access.ok()) return access.error();
  auto client = http::make_client(access->endpoint);
  if (!client.ok()) return client.error();
  controller::GivenCluster given;
  // '@' cannot occur in a kind cluster's name: a kindlb that looks for kind clusters leaves the
  // proxies of this one alone.
  given.name = access->context + "@kubeconfig";
  given.network = options.network;
  given.client = std::move(*client);
  const auto uid = kube::make_api(given.client, given.name)->cluster_uid();
  if (!uid.ok())
    return core::Error{
        uid.error().kind, "reach context " + access->context + " at " + access->endpoint.url,
        uid.error().text() + "; is the cluster running, and is this its kubeconfig?"};
  spdlog::info("serving context {} at {} on docker network {}", access->context,
               access->endpoint.url, options.network);
  return given;
}

}  // namespace

int run(const Options& options) {
  const bool drains = options.on_exit == OnExit::Delete;
  StopSignal stop(drains ? kDrainPatience : kPatience);
  auto engine = connect_engine(options);
  if (!engine) return 2;

  if (options.profile != "full") spdlog::info("doing no more than profile {}", options.profile);
  controller::Options wanted;
  wanted.policy = options.policy;
  wanted.fleet.warm_proxies = options.warm_proxies;
  wanted.fleet.services_per_proxy = options.services_per_proxy;
  wanted.delete_on_exit = drains;
  wanted.settled = release_startup_pages;
  std::string pool;  // the one of whoever serves every kind cluster
  if (options.single_cluster) {
    auto given = given_cluster(options);
    if (!given.ok()) return complain(given.error());
    pool = given->name;
    wanted.only = std::move(*given);
  }
  const auto image = proxy::ensure_proxy_image(
      *engine, options.envoy_image, agent_path(options),
      [](std::string_view line) { spdlog::info("{}", line); }, stop.token());
  if (!image.ok()) return stop.token().stop_requested() ? 0 : complain(image.error());

  controller::DockerProxyHost host(*engine, *image, pool);
  controller::Controller controller(*engine, host, std::move(wanted));
  spdlog::info("kindlb {} is running; Ctrl-C stops it", KINDLB_VERSION);
  controller.run(stop.token());
  spdlog::info(drains ? "stopped" : "stopped; the proxies go on serving");
  return 0;
}

}  // namespace kindlb::app

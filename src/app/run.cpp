// `kindlb run`: the provider, until a signal. The checks are ordered by what a user can fix: first
// the engine, then the cluster of --kubeconfig, then the image, so that the first error is the
// cause.

#include "commands.hpp"
#include "kindlb/controller/provider.hpp"
#include "kindlb/kube/api.hpp"
#include "kindlb/kube/config.hpp"
#include "kindlb/log/log.hpp"
#include "startup.hpp"
#include "stop_signal.hpp"

#include <optional>
#include <utility>

namespace kindlb::app {

namespace {

/// Ctrl-C ends kindlb within a second. With --on-exit delete, every Service is released first.
/// Ending early is safe: the proxies serve on, and the next kindlb adopts them.
constexpr std::chrono::milliseconds kStopTimeout{800};
constexpr std::chrono::seconds kDrainTimeout{25};

/// Return the cluster of --kubeconfig or --context, after a request that shows that it lets us in.
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
  log::info("serving context {} at {} on docker network {}", access->context, access->endpoint.url,
            options.network);
  return given;
}

}  // namespace

int run(const Options& options) {
  const bool drains = options.on_exit == OnExit::Delete;
  StopSignal stop(drains ? kDrainTimeout : kStopTimeout);
  auto engine = connect_engine(options);
  if (!engine) return 2;

  std::optional<controller::GivenCluster> only;
  if (options.single_cluster) {
    auto given = given_cluster(options);
    if (!given.ok()) return report_error(given.error());
    only = std::move(*given);
  }
  const auto settings = provider_settings(options);
  const auto image = controller::proxy_image(engine->images(), settings, stop.token());
  if (!image.ok()) return stop.token().stop_requested() ? 0 : report_error(image.error());
  controller::provide(*engine, *image, settings, std::move(only), stop.token());
  log::info("{}", drains ? "stopped" : "stopped; the proxies go on serving");
  return 0;
}

}  // namespace kindlb::app

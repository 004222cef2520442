// `kindlb cleanup`: removes what kindlb has left on the engine and in the clusters. Order matters:
//   1. Services are released while the proxies exist, because only the proxies' state says which
//      Services are kindlb's. A Service that keeps the finalizer could never be deleted.
//   2. Proxies, each with its volume; then sandboxes, whose networks the proxies were attached to.
//   3. Volumes that have lost their container, then images, which must not be in use.
// It does not stop a running kindlb, which would create everything again; the prompt says so.

#include "commands.hpp"
#include "kindlb/base/text.hpp"
#include "kindlb/controller/kind_clusters.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/kube/api.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "kindlb/proxy/containers.hpp"
#include "kindlb/sandbox/containers.hpp"
#include "startup.hpp"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace kindlb::app {

namespace {

const std::vector<std::string> kOurs = {std::string(proxy::kProxyLabel) + "=1"};

/// Everything on this engine that has kindlb's label.
struct Leftovers {
  std::vector<proxy::Proxy> proxies;
  std::vector<docker::Volume> volumes;
  std::vector<docker::Image> images;
  std::vector<docker::Network> sandboxes;

  bool none() const {
    return proxies.empty() && volumes.empty() && images.empty() && sandboxes.empty();
  }
};

core::Result<Leftovers> find_leftovers(docker::Engine& engine) {
  Leftovers out;
  auto proxies = proxy::list_proxies(engine.containers());
  if (!proxies.ok()) return proxies.error();
  auto volumes = engine.volumes().list(kOurs);
  if (!volumes.ok()) return volumes.error();
  auto images = engine.images().list(kOurs);
  if (!images.ok()) return images.error();
  auto sandboxes = engine.networks().list({sandbox::kWorkloadLabel});
  if (!sandboxes.ok()) return sandboxes.error();
  return Leftovers{std::move(*proxies), std::move(*volumes), std::move(*images),
                   std::move(*sandboxes)};
}

bool confirmed(const Options& options, const Leftovers& found) {
  std::printf(
      "This removes %zu proxies (their Services stop answering), %zu volumes and %zu images of "
      "kindlb,\nand its finalizer and status from the Services of the kind clusters that answer.\n",
      found.proxies.size(), found.volumes.size(), found.images.size());
  if (options.assume_yes) return true;
  std::printf("Stop kindlb first, or it will create them again. Continue? [y/N] ");
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

/// Remove kindlb's finalizer and status from the Services that the proxies serve; return their
/// number. A cluster that does not answer is reported and skipped: it may be gone for good.
std::size_t release_services(docker::Engine& engine, const std::vector<proxy::Proxy>& proxies) {
  std::map<std::string, std::vector<kube::ReleasePatch>> by_cluster;
  for (const auto& one : proxies) {
    const auto state = proxy::read_state(engine.files(), one.id);
    if (!state.ok()) continue;
    for (const auto& unit : state->units) {
      const auto key = protocol::parse_owner(unit.owner);
      if (key) by_cluster[key->cluster].push_back({*key, unit.unit, true});
    }
  }
  const auto nodes = engine.containers().list({controller::kKindClusterLabel});
  if (!nodes.ok()) return 0;
  std::size_t released = 0;
  for (const auto& [name, cluster] : controller::group_clusters(*nodes)) {
    const auto found = by_cluster.find(name);
    if (found == by_cluster.end()) continue;
    const auto connection = controller::connect_cluster(engine.files(), cluster);
    if (!connection.ok()) {
      std::printf("cluster %s does not answer; its Services keep their finalizer and status: %s\n",
                  name.c_str(), base::printable(connection.error().text()).c_str());
      continue;
    }
    const auto api = kube::make_api(connection->client, name);
    for (const auto& patch : found->second) released += api->release(patch).ok() ? 1U : 0U;
  }
  return released;
}

/// Remove each item, report failures, and return how many are gone. What another process removed
/// first counts as gone.
template <typename T, typename Remove>
std::size_t remove_all(const std::vector<T>& items, const char* what, const Remove& remove) {
  std::size_t removed = 0;
  for (const auto& item : items) {
    const auto result = remove(item);
    if (result.ok() || result.error().kind == core::ErrorKind::NotFound)
      ++removed;
    else
      std::fprintf(stderr, "kindlb: cannot remove a %s: %s\n", what,
                   base::printable(result.error().text()).c_str());
  }
  return removed;
}

}  // namespace

int cleanup(const Options& options) {
  if (!options.assume_yes && isatty(STDIN_FILENO) == 0) {
    std::fprintf(stderr,
                 "kindlb: cleanup asks before it removes anything, and standard input is not a "
                 "terminal; pass --yes\n");
    return 2;
  }
  auto engine = connect_engine(options);
  if (!engine) return 2;
  const auto found = find_leftovers(*engine);
  if (!found.ok()) return report_error(found.error());
  if (found->none()) {
    std::printf("There is nothing to remove: kindlb has left nothing on this engine.\n");
    return 0;
  }
  if (!confirmed(options, *found)) {
    std::printf("Nothing was removed.\n");
    return 1;
  }
  const auto services = release_services(*engine, found->proxies);
  const auto proxies = remove_all(found->proxies, "proxy", [&](const proxy::Proxy& one) {
    return proxy::remove_proxy(engine->containers(), engine->volumes(), one);
  });
  for (const auto& one : found->sandboxes) sandbox::clear_sandbox(*engine, one.name);
  const auto left = engine->volumes().list(kOurs);
  remove_all(left.ok() ? *left : std::vector<docker::Volume>{}, "volume",
             [&](const docker::Volume& one) { return engine->volumes().remove(one.name); });
  const auto images = remove_all(found->images, "image", [&](const docker::Image& one) {
    return engine->images().remove(one.tags.empty() ? one.id : one.tags.front());
  });
  std::printf("Removed %zu proxies and %zu images; released %zu Services.\n", proxies, images,
              services);
  const bool all = proxies == found->proxies.size() && images == found->images.size();
  return all ? 0 : 1;
}

}  // namespace kindlb::app

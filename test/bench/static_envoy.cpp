#include "bench/static_envoy.hpp"

#include "bench/rates.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace kindlb::bench {

namespace {

constexpr const char* kConfig = R"(
static_resources:
  listeners:
  - name: web
    address: {{ socket_address: {{ address: 0.0.0.0, port_value: 80 }} }}
    filter_chains:
    - filters:
      - name: envoy.filters.network.tcp_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
          stat_prefix: web
          cluster: web
  clusters:
  - name: web
    type: STATIC
    connect_timeout: 2s
    load_assignment:
      cluster_name: web
      endpoints:
      - lb_endpoints:
        - endpoint: {{ address: {{ socket_address: {{ address: {}, port_value: {} }} }} }}
)";

std::string image() {
  const char* chosen = std::getenv("KINDLB_ENVOY_IMAGE");  // NOLINT(concurrency-mt-unsafe)
  return chosen != nullptr && *chosen != '\0' ? chosen : "kindlb/envoy:v1.40.0";
}

template <typename T>
T must(core::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}

}  // namespace

StaticEnvoy::StaticEnvoy(docker::Containers& containers, const std::string& network,
                         const core::Target& backend)
    : containers_(containers),
      id_(must(containers.create(
          {.name = fmt::format("kindlb-bench-static-{}", getpid()),
           .image = image(),
           .command = {"--concurrency", "1", "--disable-hot-restart", "--log-level", "warning",
                       "--config-yaml", fmt::format(kConfig, backend.address.text(), backend.port)},
           .network = network}))) {
  const auto started = containers.start(id_);
  const auto facts = started ? containers.inspect(id_) : started.error();
  if (facts && !facts->networks.empty() && facts->networks[0].ipv4)
    target_ = {*facts->networks[0].ipv4, 80};
  for (int i = 0; i < 200; ++i) {
    if (answers_rate_questions(target_)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  (void)containers_.remove(id_);
  throw std::runtime_error("the static Envoy does not answer");
}

StaticEnvoy::~StaticEnvoy() {
  (void)containers_.remove(id_);
}

}  // namespace kindlb::bench

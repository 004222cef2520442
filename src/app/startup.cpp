#include "app/startup.hpp"

#include "kindlb/log/log.hpp"

#include <cstdio>
#include <utility>

namespace kindlb::app {

int complain(const core::Error& error) {
  std::fprintf(stderr, "kindlb: %s: %s\n", error.operation.c_str(), error.detail.c_str());
  return 2;
}

std::unique_ptr<docker::Engine> connect_engine(const Options& options) {
  const auto endpoint = docker::find_endpoint(options.docker_host);
  if (!endpoint.ok()) {
    complain(endpoint.error());
    return nullptr;
  }
  auto engine = docker::connect(*endpoint);
  if (!engine.ok()) {
    complain(engine.error());
    return nullptr;
  }
  if (const auto info = (*engine)->info(); info.ok())
    log::debug("docker engine {} (API {})", info->version, info->api_version);
  return std::move(*engine);
}

}  // namespace kindlb::app

#include "app/sandbox_playground.hpp"

#include "app/provider.hpp"
#include "app/startup.hpp"
#include "kindlb/log/log.hpp"

#include <filesystem>
#include <future>
#include <utility>

namespace kindlb::app {

namespace {
namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;

std::string echo_path(const Options& options) {
  if (!options.sandbox.echo_binary.empty()) return options.sandbox.echo_binary;
  std::error_code ignored;
  return (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "kindlb-echo").string();
}

/// Nobody reads it: who stops a program knows why it ends.
Error stopped() {
  return {ErrorKind::Unavailable, "start the sandbox", "it was stopped"};
}
}  // namespace

Result<std::unique_ptr<Playground>> Playground::make(const Options& options, StopSignal& stop) {
  std::unique_ptr<Playground> out(new Playground(options, stop));
  if (const auto opened = out->open(); !opened) return opened.error();
  return out;
}

Playground::~Playground() {
  if (file_) file_->remove();  // whoever looks at it from now on would be late
  provider_ = {};
  workloads_.reset();
  stage_.reset();
  stop_.at_last({});
}

Result<void> Playground::open() {
  auto file = KubeconfigFile::reserve(options_.sandbox.kubeconfig_out);
  if (!file) return file.error();
  file_ = std::move(*file);
  stop_.at_last([this] { file_->remove(); });
  const auto wanted = server_options(options_);
  if (!wanted) return wanted.error();
  auto server = apiserver::start_server(*wanted);
  if (!server) return server.error();
  server_ = std::move(*server);
  auto client = http::make_client({.url = server_->url()});
  if (!client) return client.error();
  client_ = std::move(*client);
  if (const auto started = start_engine_side(); !started) return started;
  if (stop_.token().stop_requested()) return stopped();
  return file_->publish(server_->kubeconfig());
}

Result<void> Playground::start_engine_side() {
  const auto endpoint = docker::find_endpoint(options_.docker_host);
  if (!endpoint) return endpoint.error();
  auto engine = docker::connect(*endpoint);
  if (!engine) return engine.error();
  engine_ = std::move(*engine);
  // Nobody else can be using this name: we are the ones who listen on its port.
  name_ = sandbox_name(server_->port());
  stop_.at_last([this] {
    const std::lock_guard lock(making_);
    clear_sandbox(*engine_, name_);
    file_->remove();
  });
  clear_sandbox(*engine_, name_);  // of one that was killed
  return start_provider();
}

Result<void> Playground::make_stage() {
  const std::lock_guard lock(making_);
  if (stop_.token().stop_requested()) return stopped();
  auto stage = SandboxStage::make(*engine_, name_, echo_path(options_), stop_.token());
  if (!stage) return stage.error();
  stage_ = std::move(*stage);
  return {};
}

Result<void> Playground::start_provider() {
  auto image = std::async(std::launch::async,
                          [this] { return proxy_image(*engine_, options_, stop_.token()); });
  if (const auto made = make_stage(); !made) return made;
  auto made = image.get();
  if (!made) return made.error();
  provider_ = std::jthread([this, image = *made](const std::stop_token& stop) {
    // '@' cannot occur in a kind cluster's name.
    controller::GivenCluster cluster{name_ + "@sandbox", name_, client_};
    provide(*engine_, image, options_, std::move(cluster), stop);
  });
  // Meanwhile the first proxy is being made.
  workloads_ = std::make_unique<SandboxWorkloads>(*stage_, client_);
  workloads_->start(stop_.token());
  return {};
}

}  // namespace kindlb::app

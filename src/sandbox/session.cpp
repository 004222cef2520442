#include "kindlb/sandbox/session.hpp"

#include "kindlb/base/errno_text.hpp"
#include "kindlb/log/log.hpp"

#include <unistd.h>

#include <filesystem>
#include <future>
#include <tuple>
#include <utility>

namespace kindlb::sandbox {

namespace {
namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;

std::string echo_path(const Settings& settings) {
  if (!settings.echo_binary.empty()) return settings.echo_binary;
  std::error_code ignored;
  return (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "kindlb-echo").string();
}

/// The server writes its state while it runs; a path that cannot work is reported at the start.
Result<void> check_state_file(const std::string& path) {
  const auto folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  if (path.empty() || ::access(folder.c_str(), W_OK) == 0) return {};
  return Error{ErrorKind::Invalid, "keep the state in " + path,
               base::errno_text() + "; name another file with --state"};
}

/// Ends make() after a stop. Never printed: the command exits quietly when the user stopped it.
Error stopped() {
  return {ErrorKind::Unavailable, "start the sandbox", "it was stopped"};
}
}  // namespace

Result<apiserver::ServerOptions> server_options(const Settings& settings) {
  apiserver::ServerOptions out;
  const auto address = apiserver::parse_listen(settings.listen);
  if (!address)
    return Error{ErrorKind::Invalid, "listen on " + settings.listen,
                 "not an address and a port; write --listen 127.0.0.1:8474"};
  std::tie(out.host, out.port) = *address;
  const auto gates = apiserver::FeatureGates::parse(settings.feature_gates);
  if (!gates) return gates.error();
  out.gates = *gates;
  auto ranges = settings.service_ranges;
  if (ranges.empty()) ranges = {"10.96.0.0/16", "fd00:10:96::/112"};
  for (const auto& text : ranges) {
    const auto range = core::Cidr::parse(text);
    if (!range)
      return Error{ErrorKind::Invalid, "use --service-range " + text,
                   "not a prefix; write 10.96.0.0/16"};
    out.service_ranges.push_back(*range);
  }
  if (const auto possible = check_state_file(settings.state); !possible) return possible.error();
  out.state_file = settings.state;
  out.endpoint_slices = true;
  out.tls = settings.tls;
  return out;
}

Result<std::unique_ptr<Session>> Session::make(const Options& options, Stop stop) {
  std::unique_ptr<Session> out(new Session(options, std::move(stop)));
  if (const auto opened = out->open(); !opened) return opened.error();
  return out;
}

Session::~Session() {
  // First, so that no client starts to use a sandbox that is going away.
  if (file_) file_->remove();
  // Stop what creates containers before removing them: the provider starts proxies, the workloads
  // replace echo containers.
  provider_ = {};
  workloads_.reset();
  containers_.reset();
  // Last: until here, a second Ctrl-C must still clean up. From here on the action would use
  // members that are being destroyed.
  stop_.before_forced_exit({});
}

Result<void> Session::open() {
  auto file = KubeconfigFile::reserve(options_.sandbox.kubeconfig_out);
  if (!file) return file.error();
  file_ = std::move(*file);
  // Registered step by step: at any moment, the action covers exactly what exists.
  stop_.before_forced_exit([this] { file_->remove(); });
  const auto wanted = server_options(options_.sandbox);
  if (!wanted) return wanted.error();
  auto server = apiserver::start_server(*wanted);
  if (!server) return server.error();
  server_ = std::move(*server);
  auto client = http::make_client({.url = server_->url()});
  if (!client) return client.error();
  client_ = std::move(*client);
  if (auto started = start_docker_side(); !started) return started;
  if (stop_.token.stop_requested()) return stopped();
  return file_->publish(server_->kubeconfig());
}

Result<void> Session::start_docker_side() {
  const auto endpoint = docker::find_endpoint(options_.docker_host);
  if (!endpoint) return endpoint.error();
  auto engine = docker::connect(*endpoint);
  if (!engine) return engine.error();
  engine_ = std::move(*engine);
  // This process listens on the port that the name derives from, so whatever has this name on the
  // engine is a leftover of a sandbox that was killed.
  name_ = sandbox_name(server_->port());
  stop_.before_forced_exit([this] {
    const std::lock_guard lock(containers_mutex_);
    clear_sandbox(*engine_, name_);
    file_->remove();
  });
  clear_sandbox(*engine_, name_);
  return start_provider();
}

Result<void> Session::make_containers() {
  const std::lock_guard lock(containers_mutex_);
  if (stop_.token.stop_requested()) return stopped();
  auto containers = Containers::make(*engine_, name_, echo_path(options_.sandbox), stop_.token);
  if (!containers) return containers.error();
  containers_ = std::move(*containers);
  return {};
}

Result<void> Session::start_provider() {
  // The image may have to be built or pulled; meanwhile the network is created.
  auto image = std::async(std::launch::async, [this] {
    return controller::proxy_image(engine_->images(), options_.provider, stop_.token);
  });
  if (auto made = make_containers(); !made) return made;
  auto made = image.get();
  if (!made) return made.error();
  provider_ = std::jthread([this, image = *made](const std::stop_token& stop) {
    // '@' cannot occur in a kind cluster's name, so `kindlb run` on the same engine never takes the
    // proxies of a sandbox for its own.
    controller::GivenCluster cluster{name_ + "@sandbox", name_, client_};
    controller::provide(*engine_, image, options_.provider, std::move(cluster), stop);
  });
  // The provider creates its first proxy while the pods start.
  workloads_ = std::make_unique<Workloads>(*containers_, client_);
  workloads_->start(stop_.token);
  return {};
}

}  // namespace kindlb::sandbox

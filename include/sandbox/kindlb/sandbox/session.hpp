#pragma once
// A running sandbox: the API server in this process, the workloads in containers, and the provider
// on a thread, the same code that `kindlb run` runs against a real cluster.

#include "kindlb/apiserver/server.hpp"
#include "kindlb/controller/provider.hpp"
#include "kindlb/sandbox/containers.hpp"
#include "kindlb/sandbox/kubeconfig_file.hpp"
#include "kindlb/sandbox/workloads.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::sandbox {

struct Settings {
  std::string listen = "127.0.0.1:8474";
  std::string kubeconfig_out = "kindlb-sandbox.kubeconfig";
  std::string feature_gates;
  std::vector<std::string> service_ranges;
  std::string state;        ///< file that keeps the API's objects; empty: none
  std::string echo_binary;  ///< empty: next to this program
  bool tls = false;
};

/// Check the settings and translate them for the API server. The error names the flag to change.
core::Result<apiserver::ServerOptions> server_options(const Settings& settings);

/// How a session learns that it has to end.
struct Stop {
  std::stop_token token;
  /// Register what to do before the process is ended by force; an empty function unregisters it.
  std::function<void(std::function<void()>)> before_forced_exit;
};

/// Everything is started by make() and removed by the destructor, in the opposite order. Whatever
/// ends the process short of SIGKILL leaves nothing behind:
///   an orderly stop      the destructor removes everything
///   a stop during make() make() returns an error after removing what it had started
///   a forced exit        the action registered with Stop::before_forced_exit removes it, on the
///                        signal thread, while the other threads are still running
/// make() and the destructor belong to one thread; the accessors are safe on any.
class Session {
 public:
  struct Options {
    Settings sandbox;
    controller::ProviderSettings provider;
    std::string docker_host;
  };

  /// Start a sandbox; return when the API answers, the pods are ready (or have had their time) and
  /// the kubeconfig is published.
  static core::Result<std::unique_ptr<Session>> make(const Options& options, Stop stop);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const apiserver::Server& server() const { return *server_; }
  std::shared_ptr<http::Client> client() const { return client_; }
  const docker::Network& network() const { return containers_->network(); }
  std::string kubeconfig() const { return file_->full_path(); }

 private:
  Session(Options options, Stop stop) : options_(std::move(options)), stop_(std::move(stop)) {}
  core::Result<void> open();
  core::Result<void> start_docker_side();
  core::Result<void> make_containers();
  core::Result<void> start_provider();

  const Options options_;
  const Stop stop_;
  /// Held while the network is created, and by the forced clean-up: otherwise the network could
  /// appear just after the clean-up has looked for it.
  std::mutex containers_mutex_;
  std::string name_;  ///< of the network, and of everything on it
  // Destroyed from the last to the first: the provider and the workloads use the API server, the
  // engine and the containers.
  std::unique_ptr<KubeconfigFile> file_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<docker::Engine> engine_;
  std::shared_ptr<http::Client> client_;
  std::unique_ptr<Containers> containers_;
  std::unique_ptr<Workloads> workloads_;
  std::jthread provider_;
};

}  // namespace kindlb::sandbox

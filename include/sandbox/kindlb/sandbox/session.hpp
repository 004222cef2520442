#pragma once
// A running sandbox: the API server in this process, the workloads in containers, and the provider
// on a thread, as it runs everywhere else. Destruction removes everything that it made.

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

core::Result<apiserver::ServerOptions> server_options(const Settings& settings);

/// How a session learns that it has to end.
struct Stop {
  std::stop_token token;
  /// Register what to do before the process is ended by force; an empty function unregisters it.
  std::function<void(std::function<void()>)> before_forced_exit;
};

class Session {
 public:
  struct Options {
    Settings sandbox;
    controller::ProviderSettings provider;
    std::string docker_host;
  };

  /// A stop during the start is an error like any other. As long as this object lives, even a
  /// forced exit leaves nothing behind.
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
  std::mutex
      containers_mutex_;  ///< held while containers are made: the forced clean-up comes after that
  std::string name_;
  std::unique_ptr<KubeconfigFile> file_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<docker::Engine> engine_;
  std::shared_ptr<http::Client> client_;
  std::unique_ptr<Containers> containers_;
  std::unique_ptr<Workloads> workloads_;
  std::jthread provider_;
};

}  // namespace kindlb::sandbox

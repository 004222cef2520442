#pragma once
// A running sandbox: the API server in this process, the workloads in containers, and the provider
// as it runs everywhere else, on a thread. Everything it made goes with it.

#include "app/sandbox_stage.hpp"
#include "app/sandbox_workloads.hpp"
#include "app/stop_signal.hpp"
#include "kindlb/apiserver/server.hpp"
#include "kindlb/app/options.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace kindlb::app {

core::Result<apiserver::ServerOptions> server_options(const Options& options);

/// Made in two steps, so that a bad path is told before anything is started, and so that the file
/// is complete when it appears: written elsewhere, then renamed. Removed on destruction.
class KubeconfigFile {
 public:
  /// Refuses a file that is somebody else's.
  static core::Result<std::unique_ptr<KubeconfigFile>> reserve(const std::string& path);
  ~KubeconfigFile() { remove(); }
  KubeconfigFile(const KubeconfigFile&) = delete;
  KubeconfigFile& operator=(const KubeconfigFile&) = delete;

  core::Result<void> publish(const std::string& text) const;
  void remove() const;
  /// As another terminal needs it.
  std::string full_path() const;

 private:
  explicit KubeconfigFile(std::string path) : path_(std::move(path)) {}
  std::string temporary() const { return path_ + ".tmp"; }
  std::string path_;
};

class Playground {
 public:
  /// `stop` may come at any time; then this is an error like any other. Even a second signal leaves
  /// nothing behind, as long as this object lives.
  static core::Result<std::unique_ptr<Playground>> make(const Options& options, StopSignal& stop);
  ~Playground();
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  const apiserver::Server& server() const { return *server_; }
  std::shared_ptr<http::Client> client() const { return client_; }
  const docker::Network& network() const { return stage_->network(); }
  std::string kubeconfig() const { return file_->full_path(); }

 private:
  Playground(const Options& options, StopSignal& stop) : options_(options), stop_(stop) {}
  core::Result<void> open();
  core::Result<void> start_engine_side();
  core::Result<void> make_stage();
  core::Result<void> start_provider();

  const Options options_;
  StopSignal& stop_;
  std::mutex making_;  ///< held while the stage is made: the last to clear must not come before
  std::string name_;
  std::unique_ptr<KubeconfigFile> file_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<docker::Engine> engine_;
  std::shared_ptr<http::Client> client_;
  std::unique_ptr<SandboxStage> stage_;
  std::unique_ptr<SandboxWorkloads> workloads_;
  std::jthread provider_;
};

}  // namespace kindlb::app

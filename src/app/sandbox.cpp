// `kindlb sandbox`: an API server in this process, echo workloads in containers, and the provider
// in front of them as it runs everywhere else.

#include "app/sandbox_stage.hpp"
#include "app/sandbox_workloads.hpp"
#include "app/startup.hpp"
#include "kindlb/app/commands.hpp"
#include "kindlb/http/client.hpp"
#include "kindlb/sandbox/server.hpp"

#include <signal.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

namespace kindlb::app {

namespace {
namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;

/// run() waits for these; until then, and for the threads made before it, they must stay pending.
void hold_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void await_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  int number = 0;
  sigwait(&set, &number);
}

std::string echo_path(const Options& options) {
  if (!options.sandbox.echo_binary.empty()) return options.sandbox.echo_binary;
  std::error_code ignored;
  return (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "kindlb-echo").string();
}

Result<sandbox::ServerOptions> server_options(const Options& options) {
  sandbox::ServerOptions out;
  const auto address = sandbox::parse_listen(options.sandbox.listen);
  if (!address)
    return Error{ErrorKind::Invalid, "listen on " + options.sandbox.listen,
                 "write an address and a port: 127.0.0.1:8474"};
  std::tie(out.host, out.port) = *address;
  const auto gates = sandbox::FeatureGates::parse(options.sandbox.feature_gates);
  if (!gates) return gates.error();
  out.gates = *gates;
  for (const auto& text : options.sandbox.service_ranges) {
    const auto range = core::Cidr::parse(text);
    if (!range)
      return Error{ErrorKind::Invalid, "use --service-range " + text,
                   "write a prefix: 10.96.0.0/16"};
    out.service_ranges.push_back(*range);
  }
  out.state_file = options.sandbox.state;
  out.endpoint_slices = true;
  out.tls = options.sandbox.tls;
  return out;
}

/// Complete when it appears: written elsewhere, then renamed. Removed on destruction.
class KubeconfigFile {
 public:
  static Result<std::unique_ptr<KubeconfigFile>> write(const std::string& path,
                                                       const std::string& text) {
    const auto temporary = path + ".tmp";
    std::error_code failure;
    {
      std::ofstream out(temporary);
      out << text;
      if (!out.flush()) failure = std::make_error_code(std::errc::io_error);
    }
    if (!failure) fs::rename(temporary, path, failure);
    if (failure)
      return Error{ErrorKind::Invalid, "write the kubeconfig " + path, failure.message()};
    return std::unique_ptr<KubeconfigFile>(new KubeconfigFile(path));
  }
  ~KubeconfigFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  KubeconfigFile(const KubeconfigFile&) = delete;
  KubeconfigFile& operator=(const KubeconfigFile&) = delete;

 private:
  explicit KubeconfigFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The provider's options: this API, this network, and nothing left behind.
Options provider_options(Options options) {
  options.kubeconfig = options.sandbox.kubeconfig_out;
  options.context = "kindlb-sandbox";
  options.single_cluster = true;
  options.network = kSandboxNetwork;
  options.on_exit = OnExit::Delete;
  return options;
}

int serve_api_only(const Options& options, const sandbox::Server& server) {
  const auto file = KubeconfigFile::write(options.sandbox.kubeconfig_out, server.kubeconfig());
  if (!file) return complain(file.error());
  spdlog::info("the API listens on {}; Ctrl-C stops it", server.url());
  await_signal();
  return 0;
}
}  // namespace

int sandbox(const Options& options) {
  if (!options.sandbox.verb.empty()) return sandbox_command(options);
  hold_signals();
  const auto wanted = server_options(options);
  if (!wanted) return complain(wanted.error());
  const auto server = sandbox::start_server(*wanted);
  if (!server) return complain(server.error());
  if (options.sandbox.api_only) return serve_api_only(options, **server);

  auto engine = connect_engine(options);
  if (!engine) return 2;
  clear_sandbox(*engine);  // of one that was killed
  const auto stage = SandboxStage::make(*engine, echo_path(options), {});
  if (!stage) return complain(stage.error());
  auto client = http::make_client({.url = (*server)->url()});
  if (!client) return complain(client.error());
  SandboxWorkloads workloads(**stage, std::move(*client));
  workloads.start();
  const auto file = KubeconfigFile::write(options.sandbox.kubeconfig_out, (*server)->kubeconfig());
  if (!file) return complain(file.error());
  spdlog::info("try: kubectl --kubeconfig {} get pods,services", options.sandbox.kubeconfig_out);
  const int code = run(provider_options(options));
  workloads.stop();
  return code;
}

}  // namespace kindlb::app

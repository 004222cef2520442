// `kindlb sandbox`: everything that is needed to try load balancers without a cluster.

#include "commands.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/sandbox/session.hpp"
#include "startup.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace kindlb::app {

namespace {
/// Without Docker there is nothing to clean up but the kubeconfig, whose object does that. The file
/// is reserved first, so that a path that cannot be written is reported before anything listens.
int serve_api_only(const Options& options, const StopSignal& stop) {
  const auto file = sandbox::KubeconfigFile::reserve(options.sandbox.kubeconfig_out);
  if (!file) return report_error(file.error());
  const auto wanted = sandbox::server_options(options.sandbox);
  if (!wanted) return report_error(wanted.error());
  const auto server = apiserver::start_server(*wanted);
  if (!server) return report_error(server.error());
  if (const auto published = (*file)->publish((*server)->kubeconfig()); !published)
    return report_error(published.error());
  log::info("the API server listens on {}; Ctrl-C stops it", (*server)->url());
  stop.wait();
  return 0;
}

/// On standard output and not a log line: it is the answer to the command, in every log format.
void print_welcome(const sandbox::Session& session) {
  std::string ranges;
  for (const auto& subnet : session.network().subnets)
    ranges += (ranges.empty() ? "" : " and ") + subnet.cidr.text();
  const auto text = fmt::format(
      "\nThe sandbox is up: API at {}, {} pods with the label app=echo, addresses from {}.\n"
      "In another terminal:\n"
      "  export KUBECONFIG={}\n"
      "  kubectl apply -f examples/web.yaml       # examples/ has one per feature\n"
      "  kubectl wait --for=condition=LoadBalancerServing service/web\n"
      "  curl http://$(kubectl get service web "
      "-o jsonpath='{{.status.loadBalancer.ingress[0].ip}}')/hostname\n"
      "  kindlb sandbox scale 3                   # also: kill, unready, ready POD\n"
      "Ctrl-C stops the sandbox and removes everything it created.\n\n",
      session.server().url(), sandbox::kDefaultReplicas, ranges, session.kubeconfig());
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}
}  // namespace

int sandbox(const Options& options) {
  if (!options.sandbox.verb.empty()) return sandbox_command(options);
  StopSignal stop(kSandboxCleanupTimeout);
  if (options.sandbox.api_only) return serve_api_only(options, stop);
  const auto session = sandbox::Session::make(session_options(options), session_stop(stop));
  if (!session) return stop.token().stop_requested() ? 0 : report_error(session.error());
  print_welcome(**session);
  stop.wait();
  log::info("removing everything that the sandbox created");
  return 0;
}

}  // namespace kindlb::app

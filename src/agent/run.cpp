#include "run.hpp"

#include "agent.hpp"
#include "kindlb/base/number.hpp"
#include "kindlb/base/text.hpp"
#include "liveness/liveness_listener.hpp"
#include "log.hpp"
#include "network/netlink_monitor.hpp"
#include "network/netlink_network.hpp"
#include "udp/nftables_filter.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace kindlb::agent {
namespace {

constexpr const char* kEnvoyPath = "/usr/local/bin/envoy";
constexpr uid_t kDefaultUid = 101;  // "envoy" in the official image

uid_t envoy_uid() {
  const char* text = std::getenv(protocol::kEnvoyUidEnv);
  const auto uid = base::parse_number<uid_t>(text == nullptr ? "" : text).value_or(0);
  if (uid != 0) return uid;
  if (text != nullptr)
    log("ignoring " + std::string(protocol::kEnvoyUidEnv) + "=" + text +
        ", which is not a user id above 0; using " + std::to_string(kDefaultUid));
  return kDefaultUid;
}

EnvoyCommand envoy_command() {
  const char* program = ::access(kEnvoyPath, X_OK) == 0 ? kEnvoyPath : "envoy";
  // --concurrency 1: one worker costs least per connection (measured).
  // --disable-hot-restart: a restart is a cold start, see supervisor.hpp.
  // --reject-unknown-dynamic-fields: without it an unknown enum value is only a warning; an SCTP
  //   listener, for example, opens as TCP.
  // --drain-time-s: connections through a replaced filter chain are closed after this time.
  return {.arguments = {program, "-c", protocol::kBootstrapFile, "--concurrency", "1",
                        "--disable-hot-restart", "--reject-unknown-dynamic-fields", "--log-level",
                        "warning", "--log-format", "envoy: [%l] %v", "--drain-time-s", "600"},
          .uid = envoy_uid()};
}

/// Return how many endpoint files Envoy can watch. The kernel limits inotify instances per uid, and
/// no other process in the user namespace should have Envoy's; two instances watch LDS and CDS.
std::size_t watch_limit() {
  const auto text = read_file("/proc/sys/fs/inotify/max_user_instances", 64);
  const auto instances =
      text ? base::parse_number<std::size_t>(base::trimmed(*text)).value_or(0) : 0;
  return instances > protocol::kFixedWatches ? instances - protocol::kFixedWatches
                                             : protocol::kUsualWatches;
}

/// Signals are read from a descriptor on the loop instead of interrupting it. Blocking them here is
/// also what makes pid 1 receive SIGTERM at all: without a handler, the kernel ignores it for
/// pid 1.
base::Fd signal_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return base::Fd(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
}

/// Reap every child that has exited: as pid 1 the agent also inherits orphans. One SIGCHLD may
/// stand for several children.
void reap(Agent& agent) {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) agent.child_exited(pid, status);
}

void read_signals(int fd, Agent& agent) {
  signalfd_siginfo info{};
  while (::read(fd, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo == SIGCHLD)
      reap(agent);
    else
      agent.stop(info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
  }
}

}  // namespace

int run_in_container() {
  const base::Fd signals = signal_descriptor();
  auto network = NetlinkNetwork::open();
  if (!network) {
    log(network.error().text());
    return 1;
  }
  NftablesFilter filter;
  Loop loop;
  Agent agent(loop, *network, filter,
              {.state_directory = protocol::kStateDir,
               .control_socket = protocol::kAgentSocket,
               .admin_socket = protocol::kAdminSocket,
               .liveness_socket = kLivenessSocket,
               .envoy = envoy_command(),
               .watch_limit = watch_limit()});
  const NetlinkMonitor monitor(loop, network->port(), [&] { agent.network_changed(); });
  loop.watch(signals.get(), POLLIN, [&](short) { read_signals(signals.get(), agent); });
  if (const auto started = agent.start(); !started) {
    log(started.error().text());
    return 1;
  }
  loop.run();
  return 0;
}

}  // namespace kindlb::agent

// What every provider must do, also those that were written before KEP-4631.

#include "kindlb/core/eligibility.hpp"
#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace kindlb::conformance {

namespace {
/// As in Kubernetes' own e2e suite: "a low but reasonable threshold".
constexpr double kMinSuccessShare = 0.95;
constexpr int kRounds = 2;
constexpr std::size_t kRollingNodes = 3;
/// As in Kubernetes' own e2e suite: time for a load balancer that notices by health checks.
constexpr int kShutdownDelay = 60;
/// How long kube-proxy takes to follow a change; traffic to a stale target fails after that.
constexpr milliseconds kProxyLag{3'000};

bool has_no_address(const core::Service& service) {
  return service.status.ingress.empty();
}

/// Opens new connections one after the other, on its own thread, until end() or destruction.
class Load {
 public:
  Load(core::Target target, std::stop_token stop)
      : thread_([this, target, stop = std::move(stop)](const std::stop_token& over) {
          while (!over.stop_requested() && !stop.stop_requested()) {
            ++total_;
            const auto answer = http_get(target, "/hostname", std::chrono::seconds(5), stop);
            if (!answer) ++failed_;
            base::sleep_for(over, milliseconds{20});
          }
        }) {}
  void end() {
    thread_.request_stop();
    thread_.join();
  }
  /// Describe the failures since the last call if they are too many, else return nothing.
  std::optional<std::string> too_many_failed() {
    const auto total = total_ - judged_total_;
    const auto failed = failed_ - judged_failed_;
    judged_total_ += total;
    judged_failed_ += failed;
    const auto share =
        1 - static_cast<double>(failed) / static_cast<double>(std::max<std::uint64_t>(total, 1));
    if (share >= kMinSuccessShare) return std::nullopt;
    return fmt::format("{} of {} connections failed", failed, total);
  }
  std::string summary() const {
    return fmt::format("{} of {} connections failed", +failed_, +total_);
  }

 private:
  std::uint64_t judged_total_ = 0;
  std::uint64_t judged_failed_ = 0;
  std::atomic<std::uint64_t> total_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::jthread thread_;
};

/// A DaemonSet is replaced pod by pod while connections are opened all the time. Its pods delay
/// their shutdown, as well-behaved servers do, so a load balancer that follows the endpoints loses
/// nothing. A Deployment would not do: externalTrafficPolicy Local needs the successor on the same
/// node.
Outcome rolling_update(TestContext& context, const char* policy) {
  if (auto end = context.start_daemon_set(kRollingNodes, kShutdownDelay)) return *end;
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.selector = context.selector();
  wanted.load_balancer_spec = {{"externalTrafficPolicy", policy}};
  if (auto end = web.publish(wanted)) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  Load load(web.target(kWeb), context.env().stop);
  // Each round is judged by itself, so that a quiet minute does not make up for an outage.
  for (int round = 1; round <= kRounds; ++round) {
    if (auto end = context.roll_daemon_set(round)) return *end;
    if (const auto failed = load.too_many_failed())
      return context.fail(fmt::format("update {}: {}", round, *failed));
  }
  if (auto end = context.await_replaced()) return *end;
  if (!context.pause(kProxyLag)) return context.fail("stopped");
  load.end();
  if (const auto failed = load.too_many_failed())
    return context.fail("while the old pods ended: " + *failed);
  context.note(load.summary());
  return {};
}

/// Change the node port, which clients cannot see: the load balancer must follow.
EarlyEnd check_node_port_change(TestContext& context, ServiceUnderTest& web, const Port& port) {
  const auto service = web.fetch();
  if (!service) return context.fail(service.error());
  const auto before = service->spec.ports.empty() ? 0 : service->spec.ports.front().node_port;
  if (before == 0) return std::nullopt;
  auto ports = web.ports_of({port});
  // The neighbouring ports may be in use, or outside of the range.
  for (const int offset : {1, -1, 2, -2, 3, -3}) {
    ports.front()["nodePort"] = before + offset;
    if (web.patch({{"ports", ports}})) continue;
    if (!context.pause(kProxyLag)) return context.fail("stopped");
    if (auto end = web.await_served()) return end;
    if (web.await_answers(port)) {
      // The provider may have noticed later than kube-proxy and be provisioning now.
      if (auto end = web.await_served()) return end;
      if (auto end = web.await_answers(port)) return end;
    }
    return web.check_addresses_kept();
  }
  context.note("no other node port was free");
  return std::nullopt;
}

/// Leave the Service without endpoints, then with endpoints again, through its selector. That is
/// not a load-balancer field, so conditions need not change.
EarlyEnd check_pods_lost_and_found(ServiceUnderTest& web, const Port& port) {
  const auto also_needs = [](const Json& value) {
    return Json{{"selector", {{"kindlb.dev/nobody-has-this", value}}}};
  };
  if (auto end = web.patch(also_needs("yes"))) return end;
  if (auto end = web.await_closed(port)) return end;
  if (auto end = web.patch(also_needs(nullptr))) return end;
  return web.await_answers(port);
}

/// For UDP and TCP alike: served, moved to another port, without pods, turned into another type.
Outcome type_and_ports(TestContext& context, const char* protocol) {
  const Port before{protocol, 80};
  const Port after{protocol, 81};
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.ports = {before};
  if (auto end = web.create(wanted)) return *end;
  if (auto end = web.patch({{"type", "NodePort"}})) return *end;
  if (auto end = web.become_load_balancer()) return *end;
  if (auto end = web.check_answers(before)) return *end;
  context.mark_supported();
  if (auto end = check_node_port_change(context, web, before)) return *end;
  if (auto end = web.change({{"ports", web.ports_of({after})}})) return *end;
  if (auto end = web.check_answers(after)) return *end;
  if (auto end = web.await_closed(before)) return *end;
  if (auto end = web.check_addresses_kept()) return *end;
  if (auto end = check_pods_lost_and_found(web, after)) return *end;
  if (auto end = web.patch({{"type", "ClusterIP"}})) return *end;
  if (auto end = web.await_state("the Service to lose its address", has_no_address)) return *end;
  if (auto end = web.await_closed(after)) return *end;
  return {};
}
}  // namespace

Outcome tcp_type_and_ports(TestContext& context) {
  return type_and_ports(context, "TCP");
}

Outcome udp_type_and_ports(TestContext& context) {
  return type_and_ports(context, "UDP");
}

/// The finalizer has to be there while a load balancer exists, and to go when the type changes or
/// the Service is deleted. A provider that forgets it leaks load balancers; one that forgets to
/// remove it makes Services undeletable.
Outcome cleanup_finalizer(TestContext& context) {
  ServiceUnderTest web(context);
  const auto has_none = [](const core::Service& service) { return !core::has_finalizer(service); };
  if (auto end = web.publish({})) return *end;
  if (auto end = web.await_state("the clean-up finalizer to appear", core::has_finalizer))
    return *end;
  if (auto end = web.patch({{"type", "ClusterIP"}})) return *end;
  if (auto end = web.await_state("the clean-up finalizer to be removed", has_none)) return *end;
  if (auto end = web.become_load_balancer()) return *end;
  if (auto end = web.await_state("the clean-up finalizer to appear", core::has_finalizer))
    return *end;
  if (auto end = web.remove()) return *end;
  return {};
}

Outcome rolling_update_cluster(TestContext& context) {
  return rolling_update(context, "Cluster");
}

Outcome rolling_update_local(TestContext& context) {
  return rolling_update(context, "Local");
}

}  // namespace kindlb::conformance

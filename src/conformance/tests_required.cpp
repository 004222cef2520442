// What every provider must do, also those that have never heard of KEP-4631.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace kindlb::conformance {

namespace {
/// As in the official suite: "a low but reasonable threshold".
constexpr double kEnough = 0.95;
constexpr int kRounds = 2;
constexpr std::size_t kRollingNodes = 3;
/// As in the official suite: for a load balancer that learns by health checks.
constexpr int kLingers = 60;
/// After which kube-proxy has followed, and who did not shows.
constexpr milliseconds kStragglers{3'000};

bool has_finalizer(const core::Service& service) {
  return sight_of(service).has_finalizer;
}
bool has_no_address(const core::Service& service) {
  return service.status.ingress.empty();
}

/// New connections one after the other, on a thread of its own.
class Load {
 public:
  Load(core::Target target, std::stop_token stop)
      : thread_([this, target, stop = std::move(stop)](const std::stop_token& over) {
          while (!over.stop_requested() && !stop.stop_requested()) {
            ++total_;
            const auto answer = ask_http(target, "/hostname", std::chrono::seconds(5), stop);
            if (!answer) ++failed_;
            pause(over, milliseconds{20});
          }
        }) {}
  void end() {
    thread_.request_stop();
    thread_.join();
  }
  /// How many of those since the last time failed; nothing: few enough.
  std::optional<std::string> too_many_failed() {
    const auto total = total_ - judged_total_;
    const auto failed = failed_ - judged_failed_;
    judged_total_ += total;
    judged_failed_ += failed;
    const auto share =
        1 - static_cast<double>(failed) / static_cast<double>(std::max<std::uint64_t>(total, 1));
    if (share >= kEnough) return std::nullopt;
    return fmt::format("{} of {} connections failed", failed, total);
  }
  std::string told() const { return fmt::format("{} of {} connections failed", +failed_, +total_); }

 private:
  std::uint64_t judged_total_ = 0;
  std::uint64_t judged_failed_ = 0;
  std::atomic<std::uint64_t> total_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::jthread thread_;
};

Outcome rolling_update(Scene& scene, const char* policy) {
  if (auto end = scene.start_daemons(kRollingNodes, kLingers)) return *end;
  Balancer web(scene);
  Wish wish;
  wish.selector = scene.selector();
  wish.balancer = {{"externalTrafficPolicy", policy}};
  if (auto end = web.publish(wish)) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  Load load(web.target(kWeb), scene.world().stop);
  // Each part by itself: a quiet minute makes up for nothing.
  for (int round = 1; round <= kRounds; ++round) {
    if (auto end = scene.roll_daemons(round)) return *end;
    if (const auto failed = load.too_many_failed())
      return scene.fail(fmt::format("update {}: {}", round, *failed));
  }
  if (auto end = scene.await_replaced()) return *end;
  if (!scene.pause(kStragglers)) return scene.fail("stopped");  // who still asks for them shows now
  load.end();
  if (const auto failed = load.too_many_failed())
    return scene.fail("as the old pods ended: " + *failed);
  scene.note(load.told());
  return {};
}

/// Another node port, which clients cannot see, is followed.
End changes_node_port(Scene& scene, Balancer& web, const Port& port) {
  const auto service = web.look();
  if (!service) return scene.fail(service.error());
  const auto before = service->spec.ports.empty() ? 0 : service->spec.ports.front().node_port;
  if (before == 0) return std::nullopt;
  auto ports = web.ports_of({port});
  // Its neighbours may be taken, or outside of the range.
  for (const int offset : {1, -1, 2, -2, 3, -3}) {
    ports.front()["nodePort"] = before + offset;
    if (web.patch({{"ports", ports}})) continue;
    if (!scene.pause(kStragglers)) return scene.fail("stopped");
    if (auto end = web.await_service()) return end;
    if (web.answers_soon(port)) {
      // The provider may have noticed later than kube-proxy, and be at work now.
      if (auto end = web.await_service()) return end;
      if (auto end = web.answers_soon(port)) return end;
    }
    return web.keeps_addresses();
  }
  scene.note("no other node port could be had");
  return std::nullopt;
}

/// Nobody behind it, then somebody again: no field of the load balancer's own.
End loses_and_finds_pods(Balancer& web, const Port& port) {
  const auto also_needs = [](const Json& value) {
    return Json{{"selector", {{"kindlb.dev/nobody-has-this", value}}}};
  };
  if (auto end = web.patch(also_needs("yes"))) return end;
  if (auto end = web.falls_silent(port)) return end;
  if (auto end = web.patch(also_needs(nullptr))) return end;
  return web.answers_soon(port);
}

/// UDP and TCP alike: served, moved to other ports, without pods, turned into another type.
Outcome type_and_ports(Scene& scene, const char* protocol) {
  const Port before{protocol, 80};
  const Port after{protocol, 81};
  Balancer web(scene);
  Wish wish;
  wish.ports = {before};
  if (auto end = web.create(wish)) return *end;
  if (auto end = web.patch({{"type", "NodePort"}})) return *end;
  if (auto end = web.become_balancer()) return *end;
  if (auto end = web.answers(before)) return *end;
  scene.supported();
  if (auto end = changes_node_port(scene, web, before)) return *end;
  if (auto end = web.change({{"ports", web.ports_of({after})}})) return *end;
  if (auto end = web.answers(after)) return *end;
  if (auto end = web.falls_silent(before)) return *end;
  if (auto end = web.keeps_addresses()) return *end;
  if (auto end = loses_and_finds_pods(web, after)) return *end;
  if (auto end = web.patch({{"type", "ClusterIP"}})) return *end;
  if (auto end = web.shows("without an address", has_no_address)) return *end;
  if (auto end = web.falls_silent(after)) return *end;
  return {};
}
}  // namespace

Outcome tcp_type_and_ports(Scene& scene) {
  return type_and_ports(scene, "TCP");
}

Outcome udp_type_and_ports(Scene& scene) {
  return type_and_ports(scene, "UDP");
}

Outcome cleanup_finalizer(Scene& scene) {
  Balancer web(scene);
  const auto has_none = [](const core::Service& service) { return !has_finalizer(service); };
  if (auto end = web.publish({})) return *end;
  if (auto end = web.shows("with the clean-up finalizer", has_finalizer)) return *end;
  if (auto end = web.patch({{"type", "ClusterIP"}})) return *end;
  if (auto end = web.shows("without the clean-up finalizer", has_none)) return *end;
  if (auto end = web.become_balancer()) return *end;
  if (auto end = web.shows("with the clean-up finalizer", has_finalizer)) return *end;
  if (auto end = web.remove()) return *end;
  return {};
}

Outcome rolling_update_cluster(Scene& scene) {
  return rolling_update(scene, "Cluster");
}

Outcome rolling_update_local(Scene& scene) {
  return rolling_update(scene, "Local");
}

}  // namespace kindlb::conformance

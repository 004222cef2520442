#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kindlb::conformance {

namespace {
using core::Result;
using Clock = std::chrono::steady_clock;

/// Conditions have times of whole seconds: changes of one second could not be told apart.
constexpr milliseconds kBetweenChanges{1'100};

/// Ready endpoints, by address family.
std::map<std::string, int> ready_endpoints(const Json& slices) {
  std::map<std::string, int> out;
  for (const auto& slice : slices.value("items", Json::array()))
    for (const auto& endpoint : slice.value("endpoints", Json::array()))
      if (endpoint.value("/conditions/ready"_json_pointer, true))
        ++out[slice.value("addressType", "")];
  return out;
}

/// Beside others' pods there may be others' Services, also those of another run.
std::string service_name(Scene& scene, const std::string& suffix) {
  const auto& world = scene.world();
  return scene.test().name + suffix + (world.own_pods() ? "" : "-" + world.run);
}

bool kept(const Json& service, const std::vector<std::string>& features) {
  const auto pointer = "/spec/requiredLoadBalancerFeatures"_json_pointer;
  return service.contains(pointer) && service.at(pointer) == Json(features);
}
}  // namespace

Balancer::Balancer(Scene& scene, const std::string& suffix)
    : scene_(scene), world_(scene.world()), name_(service_name(scene, suffix)) {}

Balancer::~Balancer() {
  if (made_) (void)world_.objects.remove(path());
}

std::string Balancer::path() const {
  return world_.path("services", name_);
}

Json Balancer::ports_of(const std::vector<Port>& ports) const {
  const auto& workload = world_.settings.workload;
  Json out = Json::array();
  for (const auto& port : ports) {
    const bool udp = std::string_view(port.protocol) == "UDP";
    out.push_back({{"name", fmt::format("{}-{}", udp ? "udp" : "tcp", port.number)},
                   {"protocol", port.protocol},
                   {"port", port.number},
                   {"targetPort", udp ? workload.udp_port : workload.tcp_port}});
  }
  return out;
}

End Balancer::create(const Wish& wish) {
  wish_ = wish;
  Json spec{{"type", "ClusterIP"},
            {"selector", wish.selector.is_null() ? world_.selector : wish.selector},
            {"ports", ports_of(wish.ports)}};
  spec.update(wish.any);
  const Json service{{"metadata", {{"name", name_}, {"labels", world_.labels()}}}, {"spec", spec}};
  // Not cut short by a stop: what the server makes all the same, nobody would know of.
  const auto made = world_.objects.create(world_.path("services"), service);
  if (!made) {
    refusal_ = made.error();
    return scene_.fail(made.error());
  }
  made_ = true;
  return await_endpoints(wish.families);
}

End Balancer::await_endpoints(std::size_t families) {
  const auto slices = fmt::format(
      "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?labelSelector={}",
      http::url_escaped(world_.ns), http::url_escaped("kubernetes.io/service-name=" + name_));
  return scene_.until("endpoints there", world_.settings.limits.conditions, [&] {
    const auto found = world_.objects.get(slices, world_.stop);
    return found && ready_endpoints(*found).size() >= families;
  });
}

End Balancer::request(const Json& more) {
  auto spec = wish_.balancer;
  spec.update(more);
  const auto& wanted_class = world_.settings.load_balancer_class;
  if (!wanted_class.empty()) spec["loadBalancerClass"] = wanted_class;
  spec["type"] = "LoadBalancer";
  const auto& features = scene_.test().features;
  const auto& annotation = world_.settings.features_annotation;
  Json changes{{"spec", spec}};
  if (!features.empty()) changes["spec"]["requiredLoadBalancerFeatures"] = features;
  if (!features.empty() && !annotation.empty())
    changes["metadata"]["annotations"][annotation] = fmt::format("{}", fmt::join(features, ","));
  const auto made = world_.objects.patch(path(), changes, world_.stop);
  if (!made) {
    refusal_ = made.error();
    return scene_.fail(made.error());
  }
  // Dropped fields are no error to an API server that does not know them.
  const bool taken = kept(*made, features);
  if (!features.empty() && !taken) world_.drops_features = true;
  stated_ = !features.empty() && (taken || !annotation.empty());
  return std::nullopt;
}

End Balancer::await_service() {
  const auto ask = scene_.ask(stated_);
  return await([&](const Sight& sight, const Waited& waited) {
    return judge_creation(ask, world_.provider, sight, waited, world_.settings.limits);
  });
}

End Balancer::become_balancer(const Json& more) {
  if (auto end = request(more)) return end;
  if (auto end = await_service()) return end;
  return find_addresses();
}

End Balancer::publish(const Wish& wish) {
  if (auto end = create(wish)) return end;
  return become_balancer();
}

End Balancer::await(const std::function<Judgement(const Sight&, const Waited&)>& judge) {
  const auto begin = Clock::now();
  auto since = begin;
  Sight sight;  // the last one: an API that stutters takes nothing back
  const auto judge_now = [&] {
    const auto service = look();
    if (service && sight_of(*service) != sight) {
      sight = sight_of(*service);
      since = Clock::now();
    }
    if (service) scene_.sees(describe(sight));
    auto judgement = judge(sight, {elapsed_since(begin), elapsed_since(since)});
    if (!service && judgement.step != Step::Go)
      judgement.reason += "; the API tells no more: " + service.error().text();
    return judgement;
  };
  auto judgement = judge_now();
  while (judgement.step == Step::Wait) {
    if (!scene_.waits(judgement.reason, elapsed_since(begin))) return scene_.fail("stopped");
    judgement = judge_now();
  }
  settled_ = Clock::now();
  if (judgement.step == Step::Skip) return Outcome{Verdict::Skip, judgement.reason};
  if (judgement.step == Step::Fail) return scene_.fail(judgement.reason);
  return std::nullopt;
}

End Balancer::change(const Json& spec, bool visible) {
  if (!scene_.speaks()) return patch(spec);
  const auto since = elapsed_since(settled_);
  if (since < kBetweenChanges && !scene_.pause(kBetweenChanges - since))
    return scene_.fail("stopped");
  const auto before = look();
  if (!before) return scene_.fail(before.error());
  const Change made{sight_of(*before), visible};
  if (auto end = patch(spec)) return end;
  const auto ask = scene_.ask(stated_);
  return await([&](const Sight& sight, const Waited& waited) {
    return judge_change(ask, made, sight, waited, world_.settings.limits);
  });
}

End Balancer::patch(const Json& spec) {
  const auto made = world_.objects.patch(path(), {{"spec", spec}}, world_.stop);
  if (!made) return scene_.fail(made.error());
  return std::nullopt;
}

End Balancer::remove() {
  if (const auto done = world_.objects.remove(path(), world_.stop); !done)
    return scene_.fail(done.error());
  return scene_.until("gone", world_.settings.limits.provisioning, [&] {
    const auto found = world_.objects.get(path(), world_.stop);
    return !found && found.error().kind == core::ErrorKind::NotFound;
  });
}

End Balancer::shows(const std::string& what,
                    const std::function<bool(const core::Service&)>& wish) {
  return scene_.until(what, world_.settings.limits.provisioning, [&] {
    const auto service = look();
    return service && wish(*service);
  });
}

Result<core::Service> Balancer::look() const {
  const auto found = world_.objects.get(path(), world_.stop);
  if (!found) return found.error();
  return kube::service_from(*found);
}

}  // namespace kindlb::conformance

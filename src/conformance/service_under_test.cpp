#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kindlb::conformance {

namespace {
using core::Result;
using Clock = std::chrono::steady_clock;

/// Transition times have a resolution of one second: two changes within one second would have the
/// same time, and the judge could not tell whether the second one was seen.
constexpr milliseconds kBetweenChanges{1'100};

/// Count ready endpoints by address family.
std::map<std::string, int> ready_endpoints(const Json& slices) {
  std::map<std::string, int> out;
  for (const auto& slice : slices.value("items", Json::array()))
    for (const auto& endpoint : slice.value("endpoints", Json::array()))
      if (endpoint.value("/conditions/ready"_json_pointer, true))
        ++out[slice.value("addressType", "")];
  return out;
}

/// In a namespace that the run does not own, there may be other Services, also of another run.
std::string service_name(TestContext& context, const std::string& suffix) {
  const auto& env = context.env();
  return context.test().name + suffix + (env.own_pods() ? "" : "-" + env.run);
}

/// Whether the API server stored the field; one that does not know it drops it without an error.
bool kept(const Json& service, const std::vector<std::string>& features) {
  const auto pointer = "/spec/requiredLoadBalancerFeatures"_json_pointer;
  return service.contains(pointer) && service.at(pointer) == Json(features);
}
}  // namespace

ServiceUnderTest::ServiceUnderTest(TestContext& context, const std::string& suffix)
    : context_(context), env_(context.env()), name_(service_name(context, suffix)) {}

ServiceUnderTest::~ServiceUnderTest() {
  if (created_) (void)env_.objects.remove(path());
}

std::string ServiceUnderTest::path() const {
  return env_.path("services", name_);
}

Json ServiceUnderTest::ports_of(const std::vector<Port>& ports) const {
  const auto& workload = env_.settings.workload;
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

/// The fields of type LoadBalancer.
Json ServiceUnderTest::load_balancer_fields(const Json& more) const {
  auto spec = template_.load_balancer_spec;
  spec.update(more);
  const auto& wanted_class = env_.settings.load_balancer_class;
  if (!wanted_class.empty()) spec["loadBalancerClass"] = wanted_class;
  spec["type"] = "LoadBalancer";
  return spec;
}

Json ServiceUnderTest::manifest(const Json& spec) const {
  Json all{{"type", "ClusterIP"},
           {"selector", template_.selector.is_null() ? env_.selector : template_.selector},
           {"ports", ports_of(template_.ports)}};
  all.update(template_.spec);
  all.update(spec);
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", name_}, {"labels", env_.labels()}}},
          {"spec", all}};
}

EarlyEnd ServiceUnderTest::create(const ServiceTemplate& wanted) {
  template_ = wanted;
  const auto service = manifest(wanted.born_as_load_balancer ? load_balancer_fields(Json::object())
                                                             : Json::object());
  // Not cancelled by a stop: the server might still create what the run would not know of.
  const auto made = env_.objects.create(env_.path("services"), service);
  if (!made) {
    refusal_ = made.error();
    return context_.fail(made.error());
  }
  created_ = true;
  context_.add_service(name_);
  return await_endpoints(wanted.endpoint_families);
}

EarlyEnd ServiceUnderTest::await_endpoints(std::size_t families) {
  const auto slices = fmt::format(
      "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?labelSelector={}",
      http::url_escaped(env_.ns), http::url_escaped("kubernetes.io/service-name=" + name_));
  return context_.wait_for("endpoints", env_.settings.limits.conditions, [&] {
    const auto found = env_.objects.get(slices, env_.stop);
    return found && ready_endpoints(*found).size() >= families;
  });
}

EarlyEnd ServiceUnderTest::request_load_balancer(const Json& more) {
  const auto& features = context_.test().features;
  const auto& annotation = env_.settings.features_annotation;
  Json changes{{"spec", load_balancer_fields(more)}};
  if (!features.empty()) changes["spec"]["requiredLoadBalancerFeatures"] = features;
  if (!features.empty() && !annotation.empty())
    changes["metadata"]["annotations"][annotation] = fmt::format("{}", fmt::join(features, ","));
  const auto made = env_.objects.patch(path(), changes, env_.stop);
  if (!made) {
    refusal_ = made.error();
    return context_.fail(made.error());
  }
  const bool accepted = kept(*made, features);
  if (!features.empty() && !accepted) env_.drops_features = true;
  declared_ = !features.empty() && (accepted || !annotation.empty());
  return std::nullopt;
}

EarlyEnd ServiceUnderTest::await_served() {
  const auto required = context_.requirements(declared_);
  return await([&](const ObservedStatus& observed, const Waited& waited) {
    return judge_creation(required, env_.provider, observed, waited, env_.settings.limits);
  });
}

EarlyEnd ServiceUnderTest::become_load_balancer(const Json& more) {
  if (!template_.born_as_load_balancer)
    if (auto end = request_load_balancer(more)) return end;
  if (auto end = await_served()) return end;
  return find_addresses();
}

EarlyEnd ServiceUnderTest::publish(const ServiceTemplate& wanted) {
  if (auto end = create(wanted)) return end;
  return become_load_balancer();
}

/// Follow the Service until the judge decides. The judge gets two times: since the request, and
/// since the last change of the status, so that it can tolerate a provider that writes in two
/// steps.
EarlyEnd ServiceUnderTest::await(
    const std::function<Judgement(const ObservedStatus&, const Waited&)>& judge) {
  const auto begin = Clock::now();
  auto since = begin;
  ObservedStatus observed;  // the last one that could be read: a failed request proves nothing
  std::string version;
  const auto judge_now = [&] {
    const auto service = current();
    if (service) version = service->resource_version;
    if (service && observed_status(*service) != observed) {
      observed = observed_status(*service);
      since = Clock::now();
    }
    if (service) context_.report_status(describe(observed));
    auto judgement = judge(observed, {elapsed_since(begin), elapsed_since(since)});
    if (!service && judgement.step != Step::Proceed)
      judgement.reason += "; the API server no longer answers: " + service.error().text();
    return judgement;
  };
  auto judgement = judge_now();
  while (judgement.step == Step::Wait) {
    env_.listener.waiting(context_.test().name, judgement.reason, elapsed_since(begin));
    env_.watch->await_later(name_, version, kPoll, env_.stop);
    if (env_.stop.stop_requested()) return context_.fail("stopped");
    judgement = judge_now();
  }
  last_judged_ = Clock::now();
  if (judgement.step == Step::Skip) return Outcome{Verdict::Skip, judgement.reason};
  if (judgement.step == Step::Fail) return context_.fail(judgement.reason);
  return std::nullopt;
}

/// Without conditions nothing tells when a change has taken effect; the checks that follow then
/// wait for the effect itself.
EarlyEnd ServiceUnderTest::change(const Json& spec, bool visible) {
  if (!context_.writes_conditions()) return patch(spec);
  const auto since = elapsed_since(last_judged_);
  if (since < kBetweenChanges && !context_.pause(kBetweenChanges - since))
    return context_.fail("stopped");
  const auto before = fetch();
  if (!before) return context_.fail(before.error());
  const Change made{observed_status(*before), visible};
  if (auto end = patch(spec)) return end;
  const auto required = context_.requirements(declared_);
  return await([&](const ObservedStatus& observed, const Waited& waited) {
    return judge_change(required, made, observed, waited, env_.settings.limits);
  });
}

EarlyEnd ServiceUnderTest::patch(const Json& spec) {
  const auto made = env_.objects.patch(path(), {{"spec", spec}}, env_.stop);
  if (!made) return context_.fail(made.error());
  return std::nullopt;
}

EarlyEnd ServiceUnderTest::remove() {
  if (const auto done = env_.objects.remove(path(), env_.stop); !done)
    return context_.fail(done.error());
  return context_.wait_for("the Service to be deleted", env_.settings.limits.provisioning, [&] {
    const auto found = env_.objects.get(path(), env_.stop);
    return !found && found.error().kind == core::ErrorKind::NotFound;
  });
}

EarlyEnd ServiceUnderTest::await_state(const std::string& what,
                                       const std::function<bool(const core::Service&)>& holds) {
  return context_.wait_for(what, env_.settings.limits.provisioning, [&] {
    const auto service = fetch();
    return service && holds(*service);
  });
}

/// Reads the Service first, so that a watch that has silently died, or lags behind our own write,
/// cannot pass off an old version as the present one.
Result<core::Service> ServiceUnderTest::current() const {
  auto now = fetch();
  if (!now) return now;
  if (auto seen = env_.watch->newest(name_, now->resource_version, env_.stop))
    return std::move(*seen);
  env_.watch->add_read(*now);
  return now;
}

Result<std::vector<ServiceVersion>> ServiceUnderTest::versions() const {
  if (const auto now = current(); !now) return now.error();
  return env_.watch->versions(name_);
}

Result<core::Service> ServiceUnderTest::fetch() const {
  const auto found = env_.objects.get(path(), env_.stop);
  if (!found) return found.error();
  return kube::service_from(*found);
}

}  // namespace kindlb::conformance

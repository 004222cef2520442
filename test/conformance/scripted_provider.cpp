#include "conformance/scripted_provider.hpp"

#include "kindlb/core/service.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <set>
#include <utility>

namespace kindlb::conformance {

namespace {
using Json = nlohmann::json;

constexpr std::uint32_t kLoopbacks = 0x7f4d0000;  // 127.77.0.0
constexpr std::chrono::milliseconds kEvery{30};

/// Times that move by a second with every change, as a provider's must.
Json condition(const char* type, bool holds, const char* reason, int changes) {
  return {{"type", type},
          {"status", holds ? "True" : "False"},
          {"reason", reason},
          {"message", "scripted"},
          {"lastTransitionTime",
           fmt::format("2026-01-01T00:{:02}:{:02}Z", changes / 60, changes % 60)}};
}

bool is_served_type(const Json& service) {
  return service["spec"].value("type", "") == "LoadBalancer" &&
         !service["spec"].contains("loadBalancerClass");
}
}  // namespace

ScriptedProvider::ScriptedProvider(test::KubeServer& server, std::string ns, Behaviour behaviour)
    : rest_(server.client()), ns_(std::move(ns)), behaviour_(behaviour) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ScriptedProvider::~ScriptedProvider() = default;

void ScriptedProvider::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      pass();
    } catch (const std::exception&) {
      // Somebody was quicker; the next pass sees what is there then.
    }
    std::this_thread::sleep_for(kEvery);
  }
}

void ScriptedProvider::pass() {
  const auto list = Json::parse(rest_.get("/api/v1/namespaces/" + ns_ + "/services"));
  for (const auto& service : list["items"]) {
    const auto name = service["metadata"]["name"].get<std::string>();
    const auto uid = service["metadata"]["uid"].get<std::string>();
    if (service["spec"].contains("selector") && sliced_[name] != uid) {
      put_endpoints(name);
      sliced_[name] = uid;
    }
    if (behaviour_ == Behaviour::Absent) continue;
    if (behaviour_ == Behaviour::TouchesOtherClasses &&
        service["spec"].contains("loadBalancerClass"))
      touch(service);
    const bool leaves = service["metadata"].contains("deletionTimestamp");
    if (is_served_type(service) && !leaves)
      serve(service);
    else if (service["metadata"].contains("finalizers"))
      release(service);
  }
}

void ScriptedProvider::put_endpoints(const std::string& service) {
  const auto path = "/apis/discovery.k8s.io/v1/namespaces/" + ns_ + "/endpointslices";
  const Json slice{
      {"metadata",
       {{"generateName", service + "-"}, {"labels", {{"kubernetes.io/service-name", service}}}}},
      {"addressType", "IPv4"},
      {"endpoints", {{{"addresses", {"10.1.1.1"}}, {"conditions", {{"ready", true}}}}}},
      {"ports", {{{"name", "tcp-80"}, {"port", 8080}}}}};
  rest_.create(path, slice.dump());
}

bool ScriptedProvider::without_conditions() const {
  return behaviour_ == Behaviour::WithoutConditions || behaviour_ == Behaviour::AffinityForever;
}

bool ScriptedProvider::hides_clients() const {
  return behaviour_ == Behaviour::HidesClients || behaviour_ == Behaviour::AdmitsHiding;
}

bool ScriptedProvider::listens() const {
  static const std::set<Behaviour> kSilent{Behaviour::Absent, Behaviour::Refusing,
                                           Behaviour::NeverReady, Behaviour::Broken,
                                           Behaviour::FalseClaim};
  return !kSilent.contains(behaviour_);
}

void ScriptedProvider::serve(const Json& service) {
  const auto uid = service["metadata"]["uid"].get<std::string>();
  const auto spec = service["spec"].dump();
  auto& mine = load_balancers_[uid];
  if (mine.spec == spec) return;
  if (mine.spec.empty()) mine.address = core::IpAddress::v4(kLoopbacks + ++addresses_);
  decltype(mine.listeners) wanted;
  // No pod has more than one label.
  const bool has_pods = service["spec"].value("selector", Json::object()).size() == 1;
  for (const auto& port : service["spec"]["ports"]) {
    const auto number = port["port"].get<std::uint16_t>();
    if (!listens() || !has_pods || port.value("protocol", "TCP") != "TCP") continue;
    const bool sticky = (service["spec"].value("sessionAffinity", "") == "ClientIP" &&
                         behaviour_ != Behaviour::SilentlyWithoutAffinity) ||
                        behaviour_ == Behaviour::AffinityForever;
    auto& listener = mine.listeners[number];
    wanted[number] =
        listener ? std::move(listener) : std::make_unique<Pods>(mine.address, number, sticky);
    wanted[number]->stick(sticky);
    if (hides_clients()) wanted[number]->hide_clients();
  }
  mine.listeners = std::move(wanted);
  write(service, status_of(mine, service["spec"]), true);
  mine.spec = spec;
  if (behaviour_ != Behaviour::IgnoresChanges) ++mine.changes;
}

Json ScriptedProvider::status_of(const LoadBalancer& load_balancer, const Json& spec) const {
  const bool fails = behaviour_ == Behaviour::Refusing || behaviour_ == Behaviour::Broken;
  const bool works_on = behaviour_ == Behaviour::NeverReady;
  Json status;
  status["loadBalancer"]["ingress"] = Json::array();
  if (!fails && !works_on)
    status["loadBalancer"]["ingress"].push_back({{"ip", load_balancer.address.text()}});
  if (without_conditions()) return status;
  const char* reason = behaviour_ == Behaviour::Refusing ? "Unsupported"
                       : behaviour_ == Behaviour::Broken ? "Infrastructure"
                       : works_on                        ? "Provisioning"
                                                         : "Serving";
  auto& conditions = status["conditions"] = Json::array();
  conditions.push_back(
      condition(core::kServingCondition, !fails && !works_on, reason, load_balancer.changes));
  conditions.push_back(condition(core::kProvisioningCondition, works_on,
                                 works_on ? "Provisioning" : "Complete", load_balancer.changes));
  if (behaviour_ == Behaviour::NoAffinity && spec.value("sessionAffinity", "") == "ClientIP")
    conditions.push_back(condition(core::kDegradedCondition, true, "SessionAffinityNotSupported",
                                   load_balancer.changes));
  if (behaviour_ == Behaviour::AdmitsHiding && spec.value("externalTrafficPolicy", "") == "Local")
    conditions.push_back(condition(core::kDegradedCondition, true,
                                   "ExternalTrafficPolicyNotSupported", load_balancer.changes));
  return status;
}

/// Gone before anybody polls.
void ScriptedProvider::touch(const Json& service) {
  const auto uid = service["metadata"]["uid"].get<std::string>();
  if (!load_balancers_.try_emplace(uid).second) return;
  const auto path = "/api/v1/namespaces/" + ns_ + "/services/" +
                    service["metadata"]["name"].get<std::string>() + "/status";
  const Json serving = condition(core::kServingCondition, false, "Provisioning", 0);
  rest_.patch(path, "merge", Json{{"status", {{"conditions", Json::array({serving})}}}}.dump());
  rest_.patch(path, "merge", Json{{"status", {{"conditions", nullptr}}}}.dump());
}

/// The write that is wrong for the moment until the next one.
void ScriptedProvider::write_early(const std::string& path, const Json& status) {
  auto early = status;
  if (behaviour_ == Behaviour::AddressFirst)
    early.erase("conditions");
  else if (behaviour_ == Behaviour::UnknownFirst && early.contains("conditions"))
    early["conditions"].front()["status"] = "Unknown";
  else
    return;
  rest_.patch(path + "/status", "merge", Json{{"status", early}}.dump());
}

void ScriptedProvider::release(const Json& service) {
  load_balancers_.erase(service["metadata"]["uid"].get<std::string>());
  write(service, {{"loadBalancer", nullptr}, {"conditions", nullptr}}, false);
}

void ScriptedProvider::write(const Json& service, const Json& status, bool finalizer) {
  const auto path =
      "/api/v1/namespaces/" + ns_ + "/services/" + service["metadata"]["name"].get<std::string>();
  const Json finalizers = finalizer ? Json::array({core::kFinalizer}) : Json::array();
  if (finalizer)
    rest_.patch(path, "merge", Json{{"metadata", {{"finalizers", finalizers}}}}.dump());
  if (finalizer) write_early(path, status);
  rest_.patch(path + "/status", "merge", Json{{"status", status}}.dump());
  if (!finalizer)
    rest_.patch(path, "merge", Json{{"metadata", {{"finalizers", finalizers}}}}.dump());
}

}  // namespace kindlb::conformance

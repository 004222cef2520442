#include "sandbox/examples.hpp"

#include "kindlb/core/conditions.hpp"
#include "support/paths.hpp"
#include "support/traffic/ask.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace kindlb::it {

namespace {
using core::Protocol;
using core::Service;
using Json = nlohmann::json;
namespace fs = std::filesystem;

/// On a machine that is busy with other things as well.
constexpr std::chrono::seconds kLimit{120};

constexpr const char* kWorking = "Serving=False/Provisioning Provisioning=True/Provisioning";
constexpr const char* kRefused = "Serving=False/Unsupported Provisioning=False/Complete";
constexpr const char* kFailed = "Serving=False/Infrastructure Provisioning=False/Complete";

std::string degraded(const std::string& reason) {
  return std::string(kServing) + " Degraded=True/" + reason;
}

Json spec_of(const Cluster& cluster, const Service& service) {
  return Json::parse(cluster.rest.get(cluster.path(service.key.name)))["spec"];
}

const std::string& ip_of(const Service& service) {
  REQUIRE_FALSE(service.status.ingress.empty());
  return service.status.ingress[0].ip;
}

/// Changes the Service and waits until it says `conditions` afterwards.
Service change(const Cluster& cluster, const Service& service, const std::string& patch,
               const std::string& conditions) {
  const auto& name = service.key.name;
  const auto seen = cluster.diary.count(name);
  cluster.rest.patch(cluster.path(name), "merge", patch);
  const auto time = [](const Service& one) {
    return core::find_condition(one.status.conditions, core::kProvisioningCondition)
        ->last_transition;
  };
  const auto found = cluster.diary.wait(
      name,
      [&](const Service& now) { return told(now) == conditions && time(now) > time(service); },
      kLimit, seen);
  if (!found) FAIL(name << " did not become " << conditions);
  return *found;
}

// ---- what single examples promise besides ------------------------------------------------------

void has_no_cluster_ip(const Cluster& cluster, const Service& service) {
  CHECK(spec_of(cluster, service).value("clusterIP", "").empty());
}

void has_no_node_port(const Cluster& cluster, const Service& service) {
  for (const auto& port : spec_of(cluster, service)["ports"])
    CHECK_FALSE(port.contains("nodePort"));
}

void has_health_check_node_port(const Cluster& cluster, const Service& service) {
  CHECK(spec_of(cluster, service).value("healthCheckNodePort", 0) > 0);
}

void has_no_health_check_node_port(const Cluster& cluster, const Service& service) {
  CHECK(spec_of(cluster, service).value("healthCheckNodePort", 0) == 0);
}

void has_chosen_address(const Cluster& cluster, const Service& service) {
  CHECK(ip_of(service) == spec_of(cluster, service)["loadBalancerIP"].get<std::string>());
}

void keeps_its_class(const Cluster& cluster, const Service& service) {
  CHECK_THROWS(cluster.rest.patch(cluster.path(service.key.name), "merge",
                                  R"({"spec":{"loadBalancerClass":"example.com/other"}})"));
}

void is_left_alone(const Cluster& cluster, const Service& service) {
  for (const auto& page : cluster.diary.pages(service.key.name)) {
    CHECK(page.finalizers.empty());
    CHECK(page.annotations.count(core::kObservedAnnotation) == 0);
    CHECK(page.status == core::ServiceStatus{});
  }
}

void sticks_to_one_pod(const Cluster&, const Service& service) {
  const auto first = http_answer(ip_of(service), 80, "/hostname");
  for (int i = 0; i < 10; ++i) CHECK(http_answer(ip_of(service), 80, "/hostname") == first);
}

void tells_the_client(const Cluster&, const Service& service) {
  CHECK(http_answer(ip_of(service), 80, "/").starts_with("PROXY TCP4 "));
}

void names_the_closed_port(const Cluster&, const Service& service) {
  REQUIRE(service.status.ingress.size() == 1);
  CHECK(service.status.ingress[0].ports ==
        std::vector<core::PortStatus>{{80, Protocol::Tcp, ""},
                                      {9999, Protocol::Sctp, "kindlb.dev/PortsNotSupported"}});
}

void shuts_others_out(const Cluster& cluster, const Service& service) {
  const auto closed = change(cluster, service,
                             R"({"spec":{"loadBalancerSourceRanges":["192.0.2.0/24"]}})", kServing);
  CHECK(http_answer(ip_of(closed), 80, "/hostname").starts_with("!"));
}

/// Times have a resolution of a second, so three may look like two.
void took_its_time(const Cluster& cluster, const Service& service) {
  const auto lines = told(cluster.diary.pages(service.key.name));
  REQUIRE(lines.size() >= 2);
  CHECK(lines[lines.size() - 2] == kWorking);
  const auto first = cluster.diary.wait(
      service.key.name, [](const Service& one) { return told(one) == kWorking; }, kLimit);
  REQUIRE(first);
  const auto time = [](const Service& one) {
    return core::find_condition(one.status.conditions, core::kServingCondition)->last_transition;
  };
  CHECK(time(service) - time(*first) >= std::chrono::seconds(2));
}

void is_interrupted(const Cluster& cluster, const Service& service) {
  const auto seen = cluster.diary.count(service.key.name);
  change(cluster, service, R"({"spec":{"sessionAffinity":"ClientIP"}})", kServing);
  const auto lines = told(cluster.diary.pages(service.key.name, seen));
  CHECK(std::ranges::find(lines, kWorking) != lines.end());
}

void recovers(const Cluster& cluster, const Service& service) {
  const auto well =
      change(cluster, service,
             R"({"metadata":{"annotations":{"kindlb.dev/fault-infrastructure":null}}})", kServing);
  CHECK_FALSE(http_answer(ip_of(well), 80, "/hostname").starts_with("!"));
}
}  // namespace

std::vector<Promise> promises() {
  const core::PortStatus tcp53{53, Protocol::Tcp, ""};
  const core::PortStatus udp53{53, Protocol::Udp, ""};
  const auto affinity = degraded("SessionAffinityNotSupported");
  const auto local = degraded("ExternalTrafficPolicyNotSupported");
  return {
      {.name = "web", .conditions = kServing},
      {.name = "udp", .conditions = kServing, .answers = {{9000, Protocol::Udp, ""}}},
      {.name = "mixed-protocols", .conditions = kServing, .answers = {tcp53, udp53}},
      {.name = "port-not-supported",
       .conditions = degraded("PortsNotSupported"),
       .says = "SCTP",
       .more = names_the_closed_port},
      {.name = "class", .conditions = kServing, .more = keeps_its_class},
      {.name = "class-of-another",
       .conditions = "",
       .addresses = 0,
       .answers = {},
       .more = is_left_alone},
      {.name = "no-cluster-ip", .conditions = kServing, .real = false, .more = has_no_cluster_ip},
      {.name = "no-node-ports", .conditions = kServing, .more = has_no_node_port},
      {.name = "local", .conditions = local, .more = has_health_check_node_port},
      {.name = "no-health-check-node-port",
       .conditions = local,
       .real = false,
       .more = has_no_health_check_node_port},
      {.name = "proxy-protocol", .conditions = kServing, .more = tells_the_client},
      {.name = "dual-stack", .conditions = kServing, .addresses = 2},
      {.name = "source-ranges", .conditions = kServing, .more = shuts_others_out},
      {.name = "affinity", .conditions = kServing, .more = sticks_to_one_pod},
      {.name = "chosen-address", .conditions = kServing, .more = has_chosen_address},
      {.name = "nobody-behind", .conditions = kServing, .answers = {}},
      {.name = "provisioning-delay", .conditions = kServing, .more = took_its_time},
      {.name = "interrupted-update", .conditions = kServing, .more = is_interrupted},
      {.name = "degraded", .conditions = affinity, .says = "sessionAffinity"},
      {.name = "degraded-twice", .conditions = degraded("Multiple"), .says = "sessionAffinity"},
      {.name = "refused", .conditions = kRefused, .addresses = 0, .answers = {}, .says = "SCTP"},
      {.name = "required-feature", .conditions = kServing, .real = false},
      {.name = "required-feature-missing",
       .conditions = kRefused,
       .addresses = 0,
       .answers = {},
       .real = false,
       .says = "sessionAffinity"},
      {.name = "required-feature-unknown",
       .conditions = kRefused,
       .addresses = 0,
       .answers = {},
       .real = false,
       .says = "Teleportation"},
      {.name = "required-by-annotation",
       .conditions = kRefused,
       .addresses = 0,
       .answers = {},
       .says = "externalTrafficPolicy"},
      {.name = "infrastructure-failure",
       .conditions = kFailed,
       .addresses = 0,
       .answers = {},
       .says = "quota of load balancers exceeded",
       .more = recovers},
  };
}

std::vector<std::string> example_names() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "examples"))
    if (entry.path().extension() != ".md") out.push_back(entry.path().stem().string());
  std::ranges::sort(out);
  return out;
}

std::string example_text(const std::string& name, const std::string& chosen_address) {
  std::ifstream in(fs::path(test::source_dir()) / "examples" / (name + ".yaml"));
  std::string text(std::istreambuf_iterator<char>(in), {});
  REQUIRE_FALSE(text.empty());
  const std::string field = "loadBalancerIP: ";
  if (const auto at = text.find(field); at != std::string::npos)
    text.replace(at + field.size(), text.find('\n', at) - at - field.size(), chosen_address);
  return text;
}

std::string http_answer(const std::string& ip, std::uint16_t port, const std::string& path) {
  const auto host = ip.find(':') == std::string::npos ? ip : "[" + ip + "]";
  const auto client = http::make_client({.url = "http://" + host + ":" + std::to_string(port)});
  REQUIRE(client);
  const auto answer = (*client)->send({.target = path, .headers = {}, .body = {}});
  return answer ? answer->body : "! " + answer.error().text();
}

namespace {
/// With IPv6, this machine may not have an address on the network yet: the kernel takes a second or
/// two to find out that nobody else has it. That is not the load balancer's doing, so it is given
/// time; with IPv4, the first request counts.
std::string first_answer(const core::IpAddress& address, std::uint16_t port) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  auto answer = http_answer(address.text(), port, "/hostname");
  while (address.family() == core::IpFamily::V6 && answer.starts_with("!") &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    answer = http_answer(address.text(), port, "/hostname");
  }
  return answer;
}
}  // namespace

void check_promise(const Cluster& cluster, const Promise& promise) {
  CAPTURE(promise.name);
  const auto rest = cluster.diary.wait(
      promise.name, [&](const Service& now) { return told(now) == promise.conditions; }, kLimit);
  if (!rest) {
    std::string seen;
    for (const auto& line : told(cluster.diary.pages(promise.name))) seen += "\n  " + line;
    FAIL("instead of " << promise.conditions << " it says" << seen);
  }
  REQUIRE(rest->status.ingress.size() == promise.addresses);
  for (const auto& ingress : rest->status.ingress)
    for (const auto& port : promise.answers) {
      const auto address = core::IpAddress::parse(ingress.ip);
      REQUIRE(address);
      if (port.protocol == Protocol::Udp)
        CHECK(testing::ask_udp({*address, port.port}, "hello", std::chrono::seconds(20)) ==
              "hello");
      else
        CHECK_FALSE(first_answer(*address, port.port).starts_with("!"));
    }
  const auto mentions = [&](const core::Condition& one) {
    return one.message.find(promise.says) != std::string::npos;
  };
  CHECK((promise.says.empty() || std::ranges::any_of(rest->status.conditions, mentions)));
  if (promise.more) promise.more(cluster, *rest);
}

}  // namespace kindlb::it

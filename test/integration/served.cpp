#include "integration/served.hpp"

#include "support/traffic/sockets.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace kindlb::it {

namespace {

/// kindlb's log is worth seeing when the last test of the binary fails as well.
std::unique_ptr<Stage> start_stage() {
  auto stage = std::make_unique<Stage>(Families::Both);
  stage->start({"--warm-proxies", "2"});
  // A bridge has its IPv6 address a while after the first container came, and backends want to
  // listen there.
  const core::Target any_port{*stage->subnet(core::IpFamily::V6).gateway, 0};
  stage->until("the bridge has its IPv6 address",
               [&] { return static_cast<bool>(testing::bound(SOCK_DGRAM, any_port)); });
  return stage;
}

std::string unique_name() {
  static int number = 0;
  return fmt::format("served-{}", ++number);
}

}  // namespace

Stage& shared_stage() {
  static const auto stage = start_stage();
  return *stage;
}

std::string mixed_spec(const std::string& more) {
  return R"({"type":"LoadBalancer","ports":[{"name":"tcp","port":80,"protocol":"TCP"},)"
         R"({"name":"udp","port":80,"protocol":"UDP"}])" +
         more + "}";
}

Served::Served(Stage& stage) : stage_(stage), name_(unique_name()) {}

Served::~Served() {
  try {
    for (const auto& slice : slices_) stage_.rest().remove(slice_path(slice));
    if (service_.uid.empty()) return;
    stage_.remove(name_);
    stage_.diary().wait_gone(name_, kPatience);
  } catch (const std::exception& problem) {
    std::cerr << "removing " << name_ << ": " << problem.what() << "\n";
  }
}

std::string Served::slice_path(const std::string& backend) const {
  return fmt::format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices/{}-{}", stage_.ns(),
                     name_, backend);
}

void Served::put(const Slice& slice) {
  const bool v4 = slice.endpoint.address.family() == core::IpFamily::V4;
  nlohmann::json json = {
      {"apiVersion", "discovery.k8s.io/v1"},
      {"kind", "EndpointSlice"},
      {"metadata",
       {{"name", name_ + "-" + slice.name}, {"labels", {{"kubernetes.io/service-name", name_}}}}},
      {"addressType", v4 ? "IPv4" : "IPv6"}};
  nlohmann::json endpoint = {
      {"addresses", {slice.endpoint.address.text()}},
      {"conditions", {{"ready", slice.ready}, {"serving", true}, {"terminating", !slice.ready}}}};
  if (!slice.node.empty()) endpoint["nodeName"] = slice.node;
  json["endpoints"].push_back(endpoint);
  for (const auto* port : {"tcp", "udp", "extra"})
    json["ports"].push_back({{"name", port},
                             {"port", slice.endpoint.port},
                             {"protocol", std::string(port) == "udp" ? "UDP" : "TCP"}});
  stage_.rest().patch(slice_path(slice.name) + "?fieldManager=test&force=true", "apply",
                      json.dump());
  slices_.insert(slice.name);
}

testing::Backend& Served::add(const std::string& backend, core::IpFamily family) {
  auto& made = backends_[backend];
  if (!made) made = std::make_unique<testing::Backend>(*stage_.subnet(family).gateway, backend);
  put({.name = backend, .endpoint = made->target()});
  return *made;
}

void Served::place(const std::string& slice, const core::Target& endpoint,
                   const std::string& node) {
  put({.name = slice, .endpoint = endpoint, .node = node});
}

void Served::leave(const std::string& backend) {
  put({.name = backend, .endpoint = backends_.at(backend)->target(), .ready = false});
}

void Served::remove(const std::string& backend) {
  stage_.rest().remove(slice_path(backend));
  slices_.erase(backend);
}

std::size_t Served::datagrams() const {
  std::size_t out = 0;
  for (const auto& [name, backend] : backends_) out += backend->datagrams();
  return out;
}

core::Service Served::create(const std::string& spec,
                             const std::map<std::string, std::string>& annotations) {
  const nlohmann::json service = {{"metadata", {{"name", name_}, {"annotations", annotations}}},
                                  {"spec", nlohmann::json::parse(spec)}};
  stage_.rest().create("/api/v1/namespaces/" + stage_.ns() + "/services", service.dump());
  service_ = stage_.await_serving(name_);
  return service_;
}

core::Service Served::patch(const std::string& merge_patch) {
  const auto seen = stage_.diary().count(name_);
  const auto written = stage_.patch(name_, merge_patch);
  // The write itself still shows the former conditions.
  service_ = stage_.await(
      name_,
      [&](const auto& s) {
        return is_serving(s) && s.resource_version != written.resource_version;
      },
      seen);
  return service_;
}

}  // namespace kindlb::it

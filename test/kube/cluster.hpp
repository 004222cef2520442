#pragma once
// One real API server for the whole test binary, and a namespace of its own for each test.

#include "kindlb/kube/api.hpp"
#include "support/servers/kube_server.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::test {

/// Started by the first test that needs it, stopped when the binary ends.
inline KubeServer& kube_server() {
  static KubeServer server;
  return server;
}

/// Asks again and again until it holds, for at most twenty seconds.
inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

/// doctest runs a test once per SUBCASE: each run gets a namespace of its own.
inline std::string unique(const std::string& name) {
  static int count = 0;
  return name + "-" + std::to_string(++count);
}

/// An ingress that was written, as this server keeps it.
inline std::vector<core::Ingress> as_kept(std::vector<core::Ingress> ingress) {
  for (auto& entry : ingress)
    if (!kube_keeps_ip_mode()) entry.ip_mode.clear();
  return ingress;
}

class Namespace {
 public:
  explicit Namespace(const std::string& name)
      : ns(unique(name)),
        client(kube_server().client()),
        rest(client),
        api(kube::make_api(client, "kind")) {
    rest.create("/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", ns));
  }

  std::string services() const { return "/api/v1/namespaces/" + ns + "/services"; }
  std::string slices() const {
    return "/apis/discovery.k8s.io/v1/namespaces/" + ns + "/endpointslices";
  }
  nlohmann::json get(const std::string& path) const {
    return nlohmann::json::parse(rest.get(path), nullptr, false);
  }
  nlohmann::json service(const std::string& name) const { return get(services() + "/" + name); }
  std::string version(const std::string& name) const {
    return service(name)["metadata"]["resourceVersion"];
  }
  /// A LoadBalancer Service with port 80; gives its uid.
  std::string create_service(const std::string& name) const {
    const auto made = rest.create(
        services(), fmt::format(R"({{"metadata":{{"name":"{}"}},)"
                                R"("spec":{{"type":"LoadBalancer","ports":[{{"port":80}}]}}}})",
                                name));
    return nlohmann::json::parse(made)["metadata"]["uid"];
  }
  core::ServiceKey key(const std::string& name) const { return {"kind", ns, name}; }

  const std::string ns;
  const std::shared_ptr<http::Client> client;
  const Rest rest;
  const std::shared_ptr<kube::Api> api;
};

}  // namespace kindlb::test

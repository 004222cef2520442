#pragma once
// A Service and a cluster small enough to run out of things, for tests of the API's semantics.

#include "service/service.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace kindlb::test {

using namespace kindlb::apiserver;

inline Json load_balancer(const char* spec = "{}") {
  Json out = Json::parse(R"({"metadata":{"name":"web","namespace":"default"},
      "spec":{"type":"LoadBalancer","ports":[{"port":80}]}})");
  out["spec"].merge_patch(Json::parse(spec));
  return out;
}

class ServiceRig {
 public:
  explicit ServiceRig(bool dual = false) {
    allocators.ips.emplace_back(*core::Cidr::parse("10.96.0.0/24"));
    if (dual) allocators.ips.emplace_back(*core::Cidr::parse("fd00:10:96::/112"));
  }

  ApiResult<Json> create(const Json& service) { return write(service, nullptr); }
  ApiResult<Json> update(const Json& service, const Json& old) { return write(service, &old); }
  Json must_create(const Json& service) {
    auto out = create(service);
    if (!out) FAIL(out.error().message);
    return *out;
  }
  Json must_update(const Json& service, const Json& old) {
    auto out = update(service, old);
    if (!out) FAIL(out.error().message);
    return *out;
  }
  void remove(const Json& service) {
    AllocationTransaction transaction(allocators);
    release_service(service, transaction);
    transaction.commit();
  }
  std::size_t ips() const { return allocators.ips[0].allocated(); }
  std::size_t ports() const { return allocators.ports.allocated(); }

  FeatureGates gates;
  Allocators allocators;

 private:
  ApiResult<Json> write(const Json& service, const Json* old) {
    AllocationTransaction transaction(allocators);
    auto out = prepare_service(service, old, gates, transaction);
    if (out) transaction.commit();
    return out;
  }
};

/// `service` with a merge patch on its spec.
inline Json with(Json service, const char* spec) {
  service["spec"].merge_patch(Json::parse(spec));
  return service;
}

inline std::string why(const ApiResult<Json>& outcome) {
  return outcome ? "accepted" : outcome.error().message;
}

/// Refused with that reason, and nothing stays allocated.
inline void check_invalid(const char* spec, const std::string& reason) {
  ServiceRig rig;
  CHECK(why(rig.create(load_balancer(spec))) == "Service \"web\" is invalid: " + reason);
  CHECK(rig.ips() == 0);
  CHECK(rig.ports() == 0);
}

}  // namespace kindlb::test

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
    pools.ips.emplace_back(*core::Cidr::parse("10.96.0.0/24"));
    if (dual) pools.ips.emplace_back(*core::Cidr::parse("fd00:10:96::/112"));
  }

  Outcome<Json> create(const Json& service) { return write(service, nullptr); }
  Outcome<Json> update(const Json& service, const Json& old) { return write(service, &old); }
  Json must_create(const Json& service) {
    auto out = create(service);
    if (!out) FAIL(out.refusal().message);
    return *out;
  }
  Json must_update(const Json& service, const Json& old) {
    auto out = update(service, old);
    if (!out) FAIL(out.refusal().message);
    return *out;
  }
  void remove(const Json& service) {
    Reservation reservation(pools);
    release_service(service, reservation);
    reservation.commit();
  }
  std::size_t ips() const { return pools.ips[0].used(); }
  std::size_t ports() const { return pools.ports.used(); }

  FeatureGates gates;
  Pools pools;

 private:
  Outcome<Json> write(const Json& service, const Json* old) {
    Reservation reservation(pools);
    auto out = prepare_service(service, old, gates, reservation);
    if (out) reservation.commit();
    return out;
  }
};

/// `service` with a merge patch on its spec.
inline Json with(Json service, const char* spec) {
  service["spec"].merge_patch(Json::parse(spec));
  return service;
}

inline std::string why(const Outcome<Json>& outcome) {
  return outcome ? "accepted" : outcome.refusal().message;
}

/// Refused with that reason, and nothing stays allocated.
inline void check_invalid(const char* spec, const std::string& reason) {
  ServiceRig rig;
  CHECK(why(rig.create(load_balancer(spec))) == "Service \"web\" is invalid: " + reason);
  CHECK(rig.ips() == 0);
  CHECK(rig.ports() == 0);
}

}  // namespace kindlb::test

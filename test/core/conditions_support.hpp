#pragma once
// What the tests of the conditions share: a Service in each of its states, made by the writes that
// lead there.

#include "kindlb/core/conditions.hpp"
#include "support/builders.hpp"
#include "support/mentions.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace kindlb::test {

inline constexpr const char* kHash = "hash-1";
inline constexpr const char* kOtherHash = "hash-2";

inline std::vector<core::Ingress> ingress_of(const std::string& address) {
  return {{.ip = address, .ip_mode = "Proxy", .ports = {{80, core::Protocol::Tcp, ""}}}};
}

inline core::Progress progress(core::Phase phase, const std::string& message = "Words.") {
  core::Progress out{.phase = phase, .message = message};
  if (phase == core::Phase::Serving) out.ingress = ingress_of("172.18.255.254");
  return out;
}

inline core::Service fresh() {
  return a_service().with_port(80);
}

/// The Service after a write for `stage` at `now`; unchanged if there was nothing to write.
inline core::Service in_phase(const core::Service& before, core::Phase phase,
                              core::Timestamp now = at(100), const std::string& hash = kHash) {
  const auto write = core::next_status(before, hash, progress(phase), now);
  return write ? accepted(before, *write) : before;
}

/// First seen at 100, serving since 110.
inline core::Service serving() {
  return in_phase(in_phase(fresh(), core::Phase::Working), core::Phase::Serving, at(110));
}

inline core::StatusApply written(const core::Service& before, const core::Progress& after,
                                 core::Timestamp now = at(200), const std::string& hash = kHash) {
  const auto write = core::next_status(before, hash, after, now);
  REQUIRE(write.has_value());
  return *write;
}

inline core::Condition condition(const std::vector<core::Condition>& conditions, const char* type) {
  const auto* found = core::find_condition(conditions, type);
  REQUIRE(found != nullptr);
  return *found;
}

inline core::Condition serving_of(const core::StatusApply& write) {
  return condition(write.conditions, core::kServingCondition);
}

inline core::Condition provisioning_of(const core::StatusApply& write) {
  return condition(write.conditions, core::kProvisioningCondition);
}

/// "True/Serving"
inline std::string brief(const core::Condition& condition) {
  return shown(condition.status) + "/" + condition.reason;
}

inline std::vector<core::Reason> one_degradation() {
  return {{"SessionAffinity", "SessionAffinityNotSupported", "No affinity."}};
}

}  // namespace kindlb::test

#pragma once
// Every field of ServiceSpec, and every annotation of docs/reference.md, with what a change of it
// means to a load balancer (docs/contract.md §2): one table for the unit tests that make each
// change, and for those that compare the table with the OpenAPI of an API server.

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <vector>

namespace kindlb::test {

enum class FieldClass {
  Visible,    ///< concerns the load balancer, and clients see a difference: both times move
  Hidden,     ///< concerns the load balancer, but clients see no difference: Provisioning's moves
  Unrelated,  ///< does not concern the load balancer: nothing is written
  Owner,      ///< says whose Service it is: with another value it is released
};

/// One change. Whether clients see it may depend on the value and on the path to the pods: the
/// table has the usual change, on the direct path.
struct FieldCase {
  std::string name;  ///< "ports[].appProtocol", or the annotation's
  FieldClass kind = FieldClass::Unrelated;
  std::string change;         ///< JSON merge patch of the Service
  std::string before = "{}";  ///< JSON merge patch that makes the change possible
};

std::vector<FieldCase> spec_field_cases();
std::vector<FieldCase> annotation_cases();

/// The names of a class, in the spec or in annotations.
std::set<std::string> names_of(const std::vector<FieldCase>& cases);
std::set<std::string> names_of(const std::vector<FieldCase>& cases, FieldClass kind);

/// The fields of ServiceSpec in an OpenAPI v3 document, down to those that have no fields of their
/// own: "clusterIP", "ports[].port", "sessionAffinityConfig.clientIP.timeoutSeconds".
std::set<std::string> spec_fields_of(const nlohmann::json& openapi);

}  // namespace kindlb::test

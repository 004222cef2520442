// The embedded API server has all fields of ServiceSpec: those of Kubernetes and of the proposals.
#include "kube/service_fields.hpp"

#include "discovery/openapi.hpp"

#include <doctest/doctest.h>

using namespace kindlb;

TEST_CASE("the embedded API server's ServiceSpec and the table of fields are the same") {
  const auto document = apiserver::openapi("/openapi/v3/api/v1");
  REQUIRE(document.has_value());
  CHECK(test::spec_fields_of(*document) == test::names_of(test::spec_field_cases()));
}

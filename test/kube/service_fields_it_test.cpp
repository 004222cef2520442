// The table of fields against a real API server: a field that a newer Kubernetes adds is not
// overlooked. An older server may lack some of the table's fields, and every server lacks those
// that are only proposed.
#include "kube/cluster.hpp"
#include "kube/service_fields.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using test::kube_server;

TEST_CASE("the table of fields has every field of the API server's ServiceSpec") {
  const test::Rest rest(kube_server().client());
  const auto known = test::names_of(test::spec_field_cases());
  const auto served =
      test::spec_fields_of(nlohmann::json::parse(rest.get("/openapi/v3/api/v1"), nullptr, false));
  CHECK(served.contains("ports[].port"));
  CHECK(served.contains("sessionAffinityConfig.clientIP.timeoutSeconds"));
  for (const auto& field : served)
    CHECK_MESSAGE(known.contains(field), "spec.", field,
                  " is not in test/kube/service_fields.cpp: say what it means to a load balancer");
}

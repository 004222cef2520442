// The same requests to the embedded API server and to a real one must get the same answers, but
// for what no two servers agree on: uids, versions, times, and which address or port came up.

#include "apiserver/contract.hpp"
#include "kindlb/apiserver/server.hpp"
#include "support/servers/kube_server.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace kindlb;
using namespace kindlb::test;

namespace {
/// What the real server has no field for is switched off, so that defaults do not differ.
std::unique_ptr<apiserver::Server> start_embedded() {
  apiserver::ServerOptions options;
  options.gates.service_lb_cluster_ip_control = false;
  options.gates.service_lb_health_check_node_port_control = false;
  options.gates.load_balancer_status_improvements = false;
  options.service_ranges = {*core::Cidr::parse("10.96.0.0/16"),
                            *core::Cidr::parse("fd00:10:96::/112")};
  auto server = apiserver::start_server(options);
  REQUIRE(server.ok());
  return std::move(*server);
}

std::shared_ptr<http::Client> client_of(const apiserver::Server& server) {
  auto client = http::make_client({.url = server.url()});
  REQUIRE(client.ok());
  return std::move(*client);
}
}  // namespace

TEST_CASE("the embedded API server answers as the real one does") {
  const KubeServer real;
  const auto embedded = start_embedded();
  const auto here = client_of(*embedded);
  const auto there = real.client();
  for (const auto& scenario : scenarios()) {
    CAPTURE(scenario.name);
    const auto ours = play(scenario, *here);
    const auto theirs = play(scenario, *there);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(scenario.steps[i].method + " " + scenario.steps[i].path);
      CHECK(ours[i] == theirs[i]);
    }
  }
}

#include "agent/it_world.hpp"

namespace kindlb::agent::it {

protocol::Unit make_unit(const UnitOptions& options) {
  const std::string types = "type.googleapis.com/envoy.";
  const auto name = options.unit + "/tcp-80";
  const auto file = "eds-" + options.unit + ".json";
  const auto bind = options.bind.empty() ? options.address.address.text() : options.bind;
  const auto target =
      options.endpoint_address.empty() ? options.endpoint.address.text() : options.endpoint_address;
  const std::string directory = protocol::kEndpointsDir;
  const auto socket = [](const std::string& address, unsigned port) {
    return R"({"socket_address":{"address":")" + address + R"(","port_value":)" +
           std::to_string(port) + "}}";
  };
  protocol::Unit out;
  out.unit = options.unit;
  out.owner = "kind/default/" + options.unit;
  out.revision = options.revision;
  out.addresses = {options.address};
  out.listeners = {
      {name,
       R"({"@type":")" + types + R"(config.listener.v3.Listener","name":")" + name +
           R"(","address":)" + socket(bind, 80) +
           R"(,"filter_chains":[{"filters":[{"name":"tcp","typed_config":{"@type":")" + types +
           R"(extensions.filters.network.tcp_proxy.v3.TcpProxy","stat_prefix":"x","cluster":")" +
           name + R"("}}]}])" + options.listener_fields + "}"}};
  out.clusters = {
      {name, R"({"@type":")" + types + R"(config.cluster.v3.Cluster","name":")" + name +
                 R"(","type":"EDS","connect_timeout":"1s","eds_cluster_config":{"eds_config":)"
                 R"({"resource_api_version":"V3","path_config_source":{"path":")" +
                 directory + "/" + file + R"("}}})" + options.cluster_fields + "}"}};
  out.assignments = {{name, file,
                      R"({"@type":")" + types +
                          R"(config.endpoint.v3.ClusterLoadAssignment","cluster_name":")" + name +
                          R"(","endpoints":[{"lb_endpoints":[{"endpoint":{"address":)" +
                          socket(target, options.endpoint.port) + "}}]}]}"}};
  return out;
}

protocol::Apply an_apply(std::uint64_t id, const UnitOptions& options) {
  protocol::Apply out;
  out.id = id;
  out.unit = make_unit(options);
  out.probes = {{"TCP/80", {options.endpoint}}};
  return out;
}

core::Target backend_of(const Peer& peer) {
  return {peer.address(), 8080};
}

std::unique_ptr<Channel> ready_channel(const Proxy& proxy) {
  auto channel = std::make_unique<Channel>(proxy);
  auto envoy = channel->expect<protocol::Hello>().envoy;
  while (envoy != protocol::EnvoyState::Live) envoy = channel->expect<protocol::Status>().envoy;
  return channel;
}

}  // namespace kindlb::agent::it

#include "codec.hpp"
#include "http_engine.hpp"
#include "kindlb/http/url.hpp"

namespace kindlb::docker {

using core::Result;

namespace {

std::string network_path(const std::string& name_or_id) {
  return "/networks/" + http::url_escaped(name_or_id);
}

}  // namespace

Result<std::vector<Network>> HttpNetworks::list(const std::vector<std::string>& labels) {
  const Query query = {{"filters", encode_filters({{"label", labels}})}};
  return transport_.fetch(get(with_query("/networks", query)), "list networks",
                          decode_network_list);
}

Result<Network> HttpNetworks::inspect(const std::string& name_or_id) {
  return transport_.fetch(get(network_path(name_or_id)), "inspect network " + name_or_id,
                          decode_network);
}

Result<std::string> HttpNetworks::create(const NetworkSpec& spec) {
  return transport_.fetch(post("/networks/create", encode_network(spec)),
                          "create network " + spec.name, decode_id);
}

Result<void> HttpNetworks::remove(const std::string& name_or_id) {
  return transport_.command(http_delete(network_path(name_or_id)), "remove network " + name_or_id);
}

}  // namespace kindlb::docker

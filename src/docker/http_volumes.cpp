#include "codec.hpp"
#include "http_engine.hpp"
#include "kindlb/http/url.hpp"

namespace kindlb::docker {

using core::Result;

Result<std::string> HttpVolumes::create(const Volume& volume) {
  return transport_.fetch(post("/volumes/create", encode_volume(volume)),
                          "create volume " + volume.name, decode_volume_name);
}

Result<std::vector<Volume>> HttpVolumes::list(const std::vector<std::string>& labels) {
  const Query query = {{"filters", encode_filters({{"label", labels}})}};
  return transport_.fetch(get(with_query("/volumes", query)), "list volumes", decode_volume_list);
}

Result<void> HttpVolumes::remove(const std::string& name) {
  return transport_.command(http_delete("/volumes/" + http::url_escaped(name)),
                            "remove volume " + name);
}

}  // namespace kindlb::docker

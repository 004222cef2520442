#include "api.hpp"

#include "kindlb/json/json.hpp"
#include "kindlb/yaml/node.hpp"

namespace kindlb::demo {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

constexpr const char* kServices = "/api/v1/namespaces/default/services/";
constexpr const char* kManager = "?fieldManager=kindlb-demo&force=true";

/// Send a request; for an error status, return the message of the API server's Status object.
Result<void> send(http::Client& api, const std::string& what, const http::Request& request) {
  const auto answer = api.send(request);
  if (!answer) return answer.error();
  if (answer->status / 100 == 2) return {};
  const auto message = json::text_at(json::parse_bounded(answer->body), {"message"});
  return Error{http::kind_of_status(answer->status), what,
               message.empty() ? answer->body : message};
}
}  // namespace

Result<std::string> apply_manifest(http::Client& api, const std::string& manifest,
                                   const std::string& file) {
  const auto documents = yaml::parse(manifest, file);
  if (!documents) return documents.error();
  if (documents->size() != 1) return Error{ErrorKind::Invalid, file, "must hold one Service"};
  auto name = yaml::nearest(documents->front(), "metadata.name").text;
  const auto sent = send(api, "apply " + file,
                         {.method = "PATCH",
                          .target = kServices + name + kManager,
                          .headers = {{"Content-Type", "application/apply-patch+yaml"}},
                          .body = manifest});
  if (!sent) return sent.error();
  return name;
}

Result<void> merge_patch(http::Client& api, const std::string& service, const std::string& json) {
  return send(api, "change " + service,
              {.method = "PATCH",
               .target = std::string(kServices) + service + "?fieldManager=kindlb-demo",
               .headers = {{"Content-Type", "application/merge-patch+json"}},
               .body = json});
}

Result<void> delete_service(http::Client& api, const std::string& service) {
  return send(api, "delete " + service,
              {.method = "DELETE", .target = std::string(kServices) + service, .headers = {}});
}

}  // namespace kindlb::demo

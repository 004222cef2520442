#include "serializer/body.hpp"

#include "kindlb/yaml/json.hpp"
#include "serializer/protobuf.hpp"

namespace kindlb::apiserver {

namespace {
StatusError not_readable(const std::string& why) {
  return bad_request("the object provided is unrecognized (must be of type JSON or YAML): " + why);
}

StatusError unknown_format() {
  return {.code = 415,
          .reason = "UnsupportedMediaType",
          .message =
              "the body of the request was in an unknown format - accepted media types "
              "include: application/json, application/yaml"};
}
}  // namespace

ApiResult<Json> read_body(const std::string& body, const std::string& content_type,
                          const std::string& kind) {
  if (content_type.find("protobuf") != std::string::npos) {
    if (auto message = from_protobuf(body, kind)) return std::move(*message);
    return unknown_format();
  }
  // Without this, CBOR would be reported as malformed JSON instead of 415, at which clients fall
  // back.
  if (content_type.find("cbor") != std::string::npos) return unknown_format();
  // JSON is YAML as well, and faster to parse: try it first whatever the content type.
  auto json = parse_bounded(body);
  if (!json.is_discarded()) return json;
  if (content_type.find("yaml") == std::string::npos) return not_readable("couldn't parse JSON");
  const auto documents = yaml::parse(body, "body");
  if (!documents.ok()) return not_readable(documents.error().text());
  if (documents->size() != 1) return not_readable("expected exactly one document");
  return yaml::to_json(documents->front());
}

}  // namespace kindlb::apiserver

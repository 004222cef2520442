#include "discovery/openapi.hpp"

#include "schema/resources.hpp"
#include "schema/schema.hpp"

#include <fmt/format.h>

namespace kindlb::apiserver {

namespace {
using Kind = Shape::Kind;

constexpr std::string_view kRoot = "/openapi/v3";

/// Not io.k8s.api: these schemas are shorter than those of Kubernetes.
std::string component(const std::string& type) {
  return "io.kindlb.sandbox.v1." + type;
}

Json schema_of(const Shape& shape);

Json list_schema(const Shape& shape) {
  Json out{{"type", "array"}, {"items", schema_of(*shape.element)}};
  switch (shape.list_type) {
    case Shape::ListType::Atomic:
      out["x-kubernetes-list-type"] = "atomic";
      break;
    case Shape::ListType::Set:
      out["x-kubernetes-list-type"] = "set";
      break;
    case Shape::ListType::Map:
      out["x-kubernetes-list-type"] = "map";
      out["x-kubernetes-list-map-keys"] = shape.keys;
      break;
  }
  if (shape.merges) out["x-kubernetes-patch-strategy"] = "merge";
  if (!shape.merge_key.empty()) out["x-kubernetes-patch-merge-key"] = shape.merge_key;
  return out;
}

Json schema_of(const Shape& shape) {
  switch (shape.kind) {
    case Kind::String:
      return {{"type", "string"}};
    case Kind::Integer:
      return {{"type", "integer"}, {"format", shape.name}};
    case Kind::Boolean:
      return {{"type", "boolean"}};
    case Kind::Time:
      return {{"type", "string"}, {"format", "date-time"}};
    case Kind::IntOrString:
      return {{"format", "int-or-string"},
              {"oneOf", {{{"type", "integer"}}, {{"type", "string"}}}}};
    case Kind::Any:
      return {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    case Kind::Struct:
      return {{"allOf",
               Json::array({{{"$ref", "#/components/schemas/" + component(shape.type->name)}}})}};
    case Kind::List:
      return list_schema(shape);
    case Kind::Map: {
      Json out{{"type", "object"}, {"additionalProperties", schema_of(*shape.element)}};
      if (shape.atomic_map) out["x-kubernetes-map-type"] = "atomic";
      return out;
    }
  }
  return Json::object();
}

Json type_schema(const Type& type) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& field : type.fields) {
    auto schema = schema_of(field.shape);
    schema["description"] = field.text;
    if (!field.default_value.empty()) schema["default"] = field.default_value;
    properties[field.name] = std::move(schema);
    if (field.required) required.push_back(field.name);
  }
  Json out{{"type", "object"}, {"description", type.text}, {"properties", properties}};
  if (!required.empty()) out["required"] = required;
  if (type.is_kind)
    out["x-kubernetes-group-version-kind"] =
        Json::array({{{"group", type.group}, {"version", "v1"}, {"kind", type.name}}});
  return out;
}

Json parameter(const char* name) {
  return {{"name", name}, {"in", "query"}, {"schema", {{"type", "string"}}}};
}

/// kubectl looks for the parameter fieldValidation to decide whether the server validates.
Json operation(const char* action, const Resource& resource) {
  return {{"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind",
           {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}}},
          {"parameters",
           {parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")}},
          {"responses", Json::object()}};
}

/// kubectl computes strategic merge patches from these schemas if the operation accepts them, else
/// from its built-in types. Only Services are described completely enough for the former.
Json patch_operation(const Resource& resource) {
  auto out = operation("patch", resource);
  Json content{{"application/json-patch+json", Json::object()},
               {"application/merge-patch+json", Json::object()},
               {"application/apply-patch+yaml", Json::object()}};
  if (&resource == &services()) content["application/strategic-merge-patch+json"] = Json::object();
  out["requestBody"] = {{"content", content}};
  return out;
}

Json document(const std::string& prefix) {
  Json paths = Json::object();
  for (const auto& resource : resources()) {
    if (resource.prefix() != prefix) continue;
    const auto collection =
        prefix + (resource.namespaced ? "/namespaces/{namespace}/" : "/") + resource.plural;
    paths[collection] = {{"get", operation("list", resource)},
                         {"post", operation("post", resource)}};
    paths[collection + "/{name}"] = {{"get", operation("get", resource)},
                                     {"put", operation("put", resource)},
                                     {"patch", patch_operation(resource)},
                                     {"delete", operation("delete", resource)}};
  }
  if (paths.empty()) return Json();
  Json schemas = Json::object();
  for (const auto& [name, type] : Schema::get().types())
    schemas[component(name)] = type_schema(type);
  return {{"openapi", "3.0.0"},
          {"info", {{"title", "kindlb sandbox"}, {"version", "v1"}}},
          {"paths", paths},
          {"components", {{"schemas", schemas}}}};
}

Json index() {
  Json paths = Json::object();
  for (const auto& resource : resources()) {
    const auto name = resource.prefix().substr(1);
    paths[name] = {{"serverRelativeURL", fmt::format("{}/{}", kRoot, name)}};
  }
  return {{"paths", paths}};
}
}  // namespace

std::optional<Json> openapi(const std::string& path) {
  if (path == kRoot) return index();
  if (!path.starts_with(std::string(kRoot) + "/")) return std::nullopt;
  auto found = document(path.substr(kRoot.size()));
  if (found.is_null()) return std::nullopt;
  return found;
}

}  // namespace kindlb::apiserver

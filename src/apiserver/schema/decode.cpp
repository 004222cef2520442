#include "schema/decode.hpp"

#include <fmt/format.h>

#include <limits>

namespace kindlb::apiserver {

namespace {
using Kind = Shape::Kind;

/// Walks the sent value along the schema. Decodes on after an error, and keeps the first one.
class Decoder {
 public:
  explicit Decoder(std::string kind) : kind_(std::move(kind)) {}

  Json read(const Json& sent, const Shape& shape, const std::string& path) {
    switch (shape.kind) {
      case Kind::Struct:
        return read_struct(sent, *shape.type, path);
      case Kind::List:
        return read_list(sent, shape, path);
      case Kind::Map:
        return read_map(sent, shape, path);
      case Kind::Integer:
        check(is_integer(sent, shape.name), sent, shape, path);
        return sent;
      case Kind::Boolean:
        check(sent.is_boolean(), sent, shape, path);
        return sent;
      case Kind::IntOrString:
        check(sent.is_string() || is_integer(sent, "int32"), sent, shape, path);
        return sent;
      case Kind::String:
      case Kind::Time:
        check(sent.is_string(), sent, shape, path);
        return sent;
      case Kind::Any:
        return sent;
    }
    return sent;
  }

  std::vector<std::string> unknown;
  std::string error;

 private:
  static bool is_integer(const Json& value, const std::string& name) {
    if (!value.is_number_integer()) return false;
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
      return false;
    const auto number = value.get<std::int64_t>();
    return name != "int32" || (number >= std::numeric_limits<std::int32_t>::min() &&
                               number <= std::numeric_limits<std::int32_t>::max());
  }

  /// As encoding/json names the type of a JSON value.
  static std::string type_of(const Json& value) {
    if (value.is_boolean()) return "bool";
    if (value.is_number()) return "number " + dump(value);
    return value.type_name();
  }

  void check(bool right, const Json& sent, const Shape& shape, const std::string& path) {
    if (right || !error.empty()) return;
    error =
        fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}",
                    type_of(sent), kind_, path, shape.kind == Kind::Boolean ? "bool" : shape.name);
  }

  static std::string below(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  Json read_struct(const Json& sent, const Type& type, const std::string& path) {
    if (!sent.is_object()) {
      Shape shape;
      shape.name = type.name;
      check(false, sent, shape, path);
      return Json::object();
    }
    Json out = Json::object();
    for (const auto& [key, value] : sent.items()) {
      const auto* field = type.field(key);
      if (field == nullptr) {
        unknown.push_back(below(path, key));
        continue;
      }
      // null is the same as absent in the Go types.
      if (value.is_null()) continue;
      auto read_value = read(value, field->shape, below(path, key));
      if (!is_omitted(read_value, *field)) out[key] = std::move(read_value);
    }
    for (const auto& field : type.fields)
      if (field.always && !out.contains(field.name)) out[field.name] = "";
    return out;
  }

  /// Whether Go's omitempty omits it. Optional booleans are pointers in the Go types, so false
  /// stays.
  static bool is_omitted(const Json& value, const Field& field) {
    if (value.is_string()) return value.get_ref<const std::string&>().empty();
    if (field.shape.kind == Kind::Integer) return value == 0 && !field.required;
    if (value.is_array()) return value.empty();
    if (field.omit_false && value == false) return true;
    return field.shape.kind == Kind::Map && value.empty();
  }

  Json read_list(const Json& sent, const Shape& shape, const std::string& path) {
    check(sent.is_array(), sent, shape, path);
    Json out = Json::array();
    if (!sent.is_array()) return out;
    std::size_t index = 0;
    for (const auto& item : sent)
      out.push_back(read(item, *shape.element, fmt::format("{}[{}]", path, index++)));
    return out;
  }

  Json read_map(const Json& sent, const Shape& shape, const std::string& path) {
    check(sent.is_object(), sent, shape, path);
    Json out = Json::object();
    if (!sent.is_object()) return out;
    for (const auto& [key, value] : sent.items()) {
      // A null value in a map of strings decodes to the zero value.
      if (value.is_null()) {
        out[key] = "";
        continue;
      }
      out[key] = read(value, *shape.element, below(path, key));
    }
    return out;
  }

  std::string kind_;
};
}  // namespace

ApiResult<Decoded> decode(const Json& sent, const std::string& kind) {
  Decoder decoder(kind);
  auto value = decoder.read(sent, Schema::get().root(kind), "");
  if (!decoder.error.empty()) return bad_request(decoder.error);
  return Decoded{std::move(value), std::move(decoder.unknown)};
}

}  // namespace kindlb::apiserver

#include "schema/schema.hpp"

#include "kindlb/core/assert.hpp"
#include "kindlb/core/embedded_file.hpp"

#include <algorithm>
#include <span>
#include <sstream>

namespace kindlb::apiserver {

std::span<const core::EmbeddedFile> embedded_schema();

namespace {
using Kind = Shape::Kind;

Kind plain_kind(const std::string& name) {
  if (name == "string") return Kind::String;
  if (name == "int32" || name == "int64") return Kind::Integer;
  if (name == "boolean") return Kind::Boolean;
  if (name == "time") return Kind::Time;
  if (name == "int-or-string") return Kind::IntOrString;
  if (name == "any") return Kind::Any;
  return Kind::Struct;
}

Shape parse_shape(const std::string& spelled) {
  Shape shape;
  shape.name = spelled;
  if (spelled.starts_with("[]")) {
    shape.kind = Kind::List;
    shape.element = std::make_shared<Shape>(parse_shape(spelled.substr(2)));
  } else if (spelled.starts_with("map[")) {
    shape.kind = Kind::Map;
    shape.element = std::make_shared<Shape>(parse_shape(spelled.substr(4, spelled.size() - 5)));
  } else {
    shape.kind = plain_kind(spelled);
  }
  return shape;
}

/// An option of a field. Unknown ones are ignored: the files are part of this source tree.
void apply_word(Field& field, const std::string& word) {
  auto& shape = field.shape;
  if (word == "atomic") shape.atomic_map = shape.kind == Kind::Map;
  if (word == "set") shape.list_type = Shape::ListType::Set;
  if (word.starts_with("merge")) shape.merges = true;
  if (word.starts_with("merge=")) shape.merge_key = word.substr(6);
  if (word.starts_with("default=")) field.default_value = word.substr(8);
  if (word == "omit-false") field.omit_false = true;
  if (word == "always") field.always = true;
  if (word.starts_with('@')) field.number = std::stoi(word.substr(1));
  if (!word.starts_with("keys=")) return;
  shape.list_type = Shape::ListType::Map;
  std::istringstream keys(word.substr(5));
  for (std::string key; std::getline(keys, key, ',');) shape.keys.push_back(key);
}

Field parse_field(std::istringstream words, std::string text) {
  Field field;
  std::string shape;
  words >> field.name >> shape;
  if (shape.ends_with('!')) {
    field.required = true;
    shape.pop_back();
  }
  field.shape = parse_shape(shape);
  for (std::string word; words >> word;) apply_word(field, word);
  field.text = std::move(text);
  return field;
}
}  // namespace

const Field* Type::field(std::string_view wanted) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& field) { return field.name == wanted; });
  return found == fields.end() ? nullptr : &*found;
}

const Field* Type::numbered(std::uint64_t wanted) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) {
    return field.number != 0 && static_cast<std::uint64_t>(field.number) == wanted;
  });
  return found == fields.end() ? nullptr : &*found;
}

const Schema& Schema::get() {
  static const Schema kSchema = [] {
    Schema schema;
    for (const auto& file : embedded_schema()) schema.read(file.text);
    // After all files are read: a type may be used before it is defined. Addresses of map nodes are
    // stable, so shapes can point to types.
    for (auto& [name, type] : schema.types_)
      for (auto& field : type.fields) schema.resolve(field.shape);
    return schema;
  }();
  return kSchema;
}

void Schema::read(std::string_view text) {
  std::istringstream lines{std::string(text)};
  Type* current = nullptr;
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(" : ");
    if (line.starts_with('#') || colon == std::string::npos) continue;
    std::istringstream words(line.substr(0, colon));
    auto meaning = line.substr(colon + 3);
    if (line.starts_with(' ')) {
      KINDLB_ASSERT(current != nullptr);
      current->fields.push_back(parse_field(std::move(words), std::move(meaning)));
      continue;
    }
    std::string what;
    Type type;
    words >> what >> type.name >> type.group;
    type.is_kind = what == "kind";
    type.text = std::move(meaning);
    current = &(types_[type.name] = std::move(type));
  }
}

void Schema::resolve(Shape& shape) {
  if (shape.element) resolve(*shape.element);
  if (shape.kind != Kind::Struct) return;
  shape.type = find(shape.name);
  KINDLB_ASSERT(shape.type != nullptr);
}

const Type* Schema::find(std::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : &found->second;
}

Shape Schema::root(const std::string& kind) const {
  Shape shape;
  shape.kind = Kind::Struct;
  shape.name = kind;
  shape.type = find(kind);
  KINDLB_ASSERT(shape.type != nullptr);
  return shape;
}

const Shape& shape_below(const Shape& shape, const std::string& key) {
  static const Shape kAny;
  if (shape.kind == Shape::Kind::Map) return *shape.element;
  if (shape.kind != Shape::Kind::Struct) return kAny;
  const auto* field = shape.type->field(key);
  return field == nullptr ? kAny : field->shape;
}

}  // namespace kindlb::apiserver

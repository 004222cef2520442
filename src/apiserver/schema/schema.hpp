#pragma once
// The types of the API objects: the one description behind decoding (unknown fields, protobuf
// numbers), patches (merge keys), server-side apply (list and map types) and OpenAPI.
//
// It is parsed from the files in schema/, one line per field:
//   kind NAME [GROUP] : description         (a type with apiVersion and kind; version v1)
//   type NAME : description
//     FIELD SHAPE[!] [atomic|set|keys=A,B] [merge[=KEY]] [default=X] [omit-false] [always] [@N] :
//     description
// SHAPE is string, int32, int64, boolean, time, int-or-string, any, the name of a type, []SHAPE or
// map[SHAPE]. `!` marks a required field and `@N` its number in protobuf. Parsed once, immutable
// afterwards, and so thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::apiserver {

struct Type;

struct Shape {
  enum class Kind { String, Integer, Boolean, Time, IntOrString, Any, Struct, List, Map };
  enum class ListType { Atomic, Set, Map };  ///< x-kubernetes-list-type

  Kind kind = Kind::Any;
  std::string name;                ///< as in the file: "int32", "ServicePort"
  const Type* type = nullptr;      ///< of a Struct
  std::shared_ptr<Shape> element;  ///< of a List or Map
  ListType list_type = ListType::Atomic;
  bool atomic_map = false;        ///< x-kubernetes-map-type: atomic
  std::vector<std::string> keys;  ///< x-kubernetes-list-map-keys
  bool merges = false;            ///< x-kubernetes-patch-strategy: merge
  std::string merge_key;          ///< x-kubernetes-patch-merge-key; empty: a list of scalars
};

struct Field {
  std::string name;
  Shape shape;
  bool required = false;
  bool omit_false = false;    ///< a boolean that is omitted when false
  bool always = false;        ///< a string that is present even when empty
  int number = 0;             ///< in protobuf; zero: has none
  std::string default_value;  ///< of a key of a list that is absent
  std::string text;           ///< the description
};

struct Type {
  std::string name;
  std::string group;
  bool is_kind = false;
  std::string text;
  std::vector<Field> fields;

  const Field* field(std::string_view name) const;
  const Field* numbered(std::uint64_t number) const;
};

class Schema {
 public:
  /// The schema of the embedded files.
  static const Schema& get();

  /// Null: unknown.
  const Type* find(std::string_view name) const;
  /// Return the shape of a whole object. REQUIRES: the kind exists.
  Shape root(const std::string& kind) const;
  const std::map<std::string, Type, std::less<>>& types() const { return types_; }

 private:
  void read(std::string_view text);
  void resolve(Shape& shape);

  std::map<std::string, Type, std::less<>> types_;
};

/// Return the shape of the field or map value `key` of an object of this shape; Any if unknown.
const Shape& shape_below(const Shape& shape, const std::string& key);

}  // namespace kindlb::apiserver

#pragma once
// The shape of the API's objects: one description, from which unknown fields are found, patches
// merge lists, server-side apply tracks owners, and OpenAPI is told.
//
// It is read from the texts in schema/, one line per field:
//   kind NAME [GROUP] : what it is          (a type that is an object of its own; version v1)
//   type NAME : what it is
//     FIELD SHAPE[!] [atomic|set|keys=A,B] [merge[=KEY]] [default=X] [omit-false] [always] [@N] :
//     what it means
// with SHAPE one of string, int32, int64, boolean, time, int-or-string, any, a type's name, []SHAPE
// and map[SHAPE]; `!` marks a required field, `@N` is its number in protobuf. Built once,
// immutable.

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
  enum class ListType { Atomic, Set, Map };

  Kind kind = Kind::Any;
  std::string name;                ///< as spelled: "int32", "ServicePort"
  const Type* type = nullptr;      ///< of a Struct
  std::shared_ptr<Shape> element;  ///< of a List or Map
  ListType list_type = ListType::Atomic;
  bool atomic_map = false;        ///< a Map that changes as a whole
  std::vector<std::string> keys;  ///< of a Keyed list
  bool merges = false;            ///< under a strategic merge patch
  std::string merge_key;          ///< of the elements then; empty: they are plain values
};

struct Field {
  std::string name;
  Shape shape;
  bool required = false;
  bool omit_false = false;    ///< a boolean that is not there when it is false
  bool always = false;        ///< a string that is there even when it is empty
  int number = 0;             ///< in protobuf; zero: not known there
  std::string default_value;  ///< the value of a key that is not given
  std::string text;
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
  /// The one of the embedded texts.
  static const Schema& get();

  /// Null: unknown.
  const Type* find(std::string_view name) const;
  /// REQUIRES: it exists.
  Shape root(const std::string& kind) const;
  const std::map<std::string, Type, std::less<>>& types() const { return types_; }

 private:
  void read(std::string_view text);
  void resolve(Shape& shape);

  std::map<std::string, Type, std::less<>> types_;
};

/// Of what `key` names in an object of that shape; Any where nothing is said of it.
const Shape& shape_below(const Shape& shape, const std::string& key);

}  // namespace kindlb::apiserver

#include "serializer/protobuf.hpp"

#include "object_meta.hpp"
#include "schema/schema.hpp"

#include <ctime>

namespace kindlb::apiserver {

namespace {
using Kind = Shape::Kind;

/// Prefix of every protobuf body of Kubernetes.
constexpr std::string_view kMagic{"k8s\0", 4};
/// Messages nest as types do; deeper input is hostile.
constexpr int kMaxDepth = 32;

/// One field of a message: its number, and its value by wire type.
struct Item {
  std::uint64_t number = 0;
  bool is_bytes = false;
  std::uint64_t value = 0;
  std::string_view bytes;
};

/// Iterates over the fields of one message. Reads nothing outside `bytes`, whatever the lengths
/// say.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  /// Nothing: at the end, or malformed; broken() tells which.
  std::optional<Item> next() {
    if (rest_.empty() || broken_) return std::nullopt;
    const auto tag = varint();
    Item item{tag >> 3U, false, 0, {}};
    switch (tag & 7U) {
      case 0:
        item.value = varint();
        break;
      case 2:
        item.is_bytes = true;
        item.bytes = take(varint());
        break;
      default:  // fixed-size numbers do not occur in these types
        broken_ = true;
    }
    if (broken_) return std::nullopt;
    return item;
  }
  bool broken() const { return broken_; }

 private:
  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return out;
    }
    broken_ = true;
    return 0;
  }

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      broken_ = true;
      return {};
    }
    const auto out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  std::string_view rest_;
  bool broken_ = false;
};

/// Converts messages to JSON by the schema. Fields with unknown numbers are skipped.
class Reader {
 public:
  Json read_struct(std::string_view bytes, const Type& type, int depth) {
    Json out = Json::object();
    if (depth > kMaxDepth) broken = true;
    Message message(bytes);
    while (const auto item = broken ? std::nullopt : message.next()) {
      const auto* field = type.numbered(item->number);
      if (field != nullptr) read_field(out, *field, *item, depth);
    }
    broken = broken || message.broken();
    return out;
  }

  bool broken = false;

 private:
  void read_field(Json& out, const Field& field, const Item& item, int depth) {
    const auto& shape = field.shape;
    if (shape.kind == Kind::List) {
      out[field.name].push_back(read_value(*shape.element, item, depth));
    } else if (shape.kind == Kind::Map) {
      read_entry(out[field.name], *shape.element, item.bytes, depth);
    } else if (auto value = read_value(shape, item, depth); !value.is_null()) {
      out[field.name] = std::move(value);
    }
  }

  /// A map is a repeated message of key (1) and value (2); an empty value is omitted.
  void read_entry(Json& map, const Shape& shape, std::string_view bytes, int depth) {
    std::string key;
    Json value = "";
    Message entry(bytes);
    while (const auto item = entry.next()) {
      if (item->number == 1) key = item->bytes;
      if (item->number == 2) value = read_value(shape, *item, depth);
    }
    broken = broken || entry.broken();
    map[key] = std::move(value);
  }

  Json read_value(const Shape& shape, const Item& item, int depth) {
    switch (shape.kind) {
      case Kind::String:
        return std::string(item.bytes);
      case Kind::Integer:
        return static_cast<std::int64_t>(item.value);
      case Kind::Boolean:
        return item.value != 0;
      case Kind::Time:
        return read_time(item.bytes);
      case Kind::IntOrString:
        return read_int_or_string(item.bytes);
      case Kind::Struct:
        return read_struct(item.bytes, *shape.type, depth + 1);
      case Kind::Any:
      case Kind::List:
      case Kind::Map:
        broken = true;
    }
    return nullptr;
  }

  /// metav1.Time: seconds (1) and nanoseconds (2), of which only seconds are kept.
  Json read_time(std::string_view bytes) {
    time_t seconds = 0;
    Message message(bytes);
    while (const auto item = message.next())
      if (item->number == 1) seconds = static_cast<time_t>(item->value);
    broken = broken || message.broken();
    std::tm parts{};
    if (seconds <= 0 || gmtime_r(&seconds, &parts) == nullptr) return nullptr;
    return rfc3339(seconds);
  }

  /// type (1): 0 for an integer (2), 1 for a string (3).
  Json read_int_or_string(std::string_view bytes) {
    std::uint64_t type = 0;
    std::int64_t number = 0;
    std::string text;
    Message message(bytes);
    while (const auto item = message.next()) {
      if (item->number == 1) type = item->value;
      if (item->number == 2) number = static_cast<std::int64_t>(item->value);
      if (item->number == 3) text = item->bytes;
    }
    broken = broken || message.broken();
    return type == 1 ? Json(text) : Json(number);
  }
};

/// runtime.Unknown: typeMeta (1) and raw (2), the encoded object.
struct Envelope {
  std::string api_version;
  std::string kind;
  std::string_view raw;
};

std::optional<Envelope> open_envelope(std::string_view body) {
  if (!body.starts_with(kMagic)) return std::nullopt;
  Envelope out;
  Message message(body.substr(kMagic.size()));
  while (const auto item = message.next()) {
    if (item->number == 2) out.raw = item->bytes;
    if (item->number != 1) continue;
    Message meta(item->bytes);
    while (const auto part = meta.next()) {
      if (part->number == 1) out.api_version = part->bytes;
      if (part->number == 2) out.kind = part->bytes;
    }
  }
  if (message.broken()) return std::nullopt;
  return out;
}
}  // namespace

std::optional<Json> from_protobuf(std::string_view body, const std::string& kind) {
  const auto envelope = open_envelope(body);
  const auto* type = Schema::get().find(kind);
  if (!envelope || type == nullptr || envelope->kind != kind) return std::nullopt;
  Reader reader;
  auto out = reader.read_struct(envelope->raw, *type, 0);
  if (reader.broken) return std::nullopt;
  out["apiVersion"] = envelope->api_version;
  out["kind"] = envelope->kind;
  return out;
}

}  // namespace kindlb::apiserver

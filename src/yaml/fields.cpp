#include "kindlb/yaml/fields.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/assert.hpp"

namespace kindlb::yaml {

void Faults::add(const Place& place, std::string what) {
  if (!first_) first_ = Fault{place, std::move(what)};
}

core::Error Faults::error(const std::string& file) const {
  KINDLB_ASSERT(first_.has_value());
  return fault(file, first_->place, first_->what);
}

Fields::Fields(const Node& map, Faults& faults) : map_(map), faults_(faults) {
  if (map.kind != Kind::Map && map.kind != Kind::Null)
    complain(map, "expected a map, not " + describe(map));
}

/// In the destructor, because only then all keys that the reader knows have been asked for.
Fields::~Fields() {
  for (const auto& key : map_.keys) {
    if (asked_.contains(key.text)) continue;
    faults_.add(key.place, "unknown key '" + key.text + "'; known keys: " + base::joined(asked_));
  }
}

const Node* Fields::find(const char* key) {
  asked_.insert(key);
  const auto* const node = map_.find(key);
  return node == nullptr || node->kind == Kind::Null ? nullptr : node;
}

std::optional<std::string> Fields::text(const char* key) {
  const auto* const node = find(key);
  if (node == nullptr) return std::nullopt;
  return text_of(*node, faults_);
}

std::string Fields::required(const char* key) {
  auto value = text(key).value_or("");
  if (value.empty()) complain(map_, "'" + std::string(key) + "' is missing");
  return value;
}

std::optional<bool> Fields::flag(const char* key) {
  const auto* const node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto value = resolve(*node);
  if (node->kind == Kind::Scalar && std::holds_alternative<bool>(value))
    return std::get<bool>(value);
  complain(*node, "'" + std::string(key) + "' must be true or false, not " + describe(*node));
  return std::nullopt;
}

std::optional<std::uint16_t> Fields::port(const char* key) {
  const auto* const node = find(key);
  if (node == nullptr) return std::nullopt;
  return port_of(*node, faults_);
}

std::optional<std::vector<const Node*>> Fields::list(const char* key) {
  const auto* const node = find(key);
  if (node == nullptr) return std::nullopt;
  std::vector<const Node*> out;
  if (node->kind != Kind::List)
    complain(*node, "'" + std::string(key) + "' must be a list, not " + describe(*node));
  else
    for (const auto& item : node->items) out.push_back(&item);
  return out;
}

std::string text_of(const Node& node, Faults& faults) {
  if (node.kind == Kind::Scalar) return node.text;
  faults.add(node.place, "expected a string, not " + describe(node));
  return {};
}

std::uint16_t port_of(const Node& node, Faults& faults) {
  const auto value = node.kind == Kind::Scalar ? resolve(node) : Scalar(nullptr);
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number != nullptr && *number >= 1 && *number <= 65535)
    return static_cast<std::uint16_t>(*number);
  faults.add(node.place, "expected a port from 1 to 65535, not " + describe(node));
  return 0;
}

}  // namespace kindlb::yaml

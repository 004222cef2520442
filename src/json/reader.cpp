#include "kindlb/json/reader.hpp"

#include "kindlb/json/json.hpp"

#include <limits>

namespace kindlb::json {

namespace {
constexpr auto kNoIndex = std::numeric_limits<std::size_t>::max();

const Json& nothing() {
  static const Json kObject = Json::object();
  return kObject;
}
}  // namespace

Reader::Reader(const Json& value, Problem& problem) : value_(value), problem_(problem) {
  if (!value_.is_object()) report({}, "not an object");
}

Reader::Reader(const Json& value, const Reader& parent, std::string_view name, std::size_t index)
    : value_(value), problem_(parent.problem_), parent_(&parent), name_(name) {
  if (index != kNoIndex) index_ = index;
  if (!value_.is_object()) report({}, "not an object");
}

std::string Reader::path() const {
  if (parent_ == nullptr) return {};
  auto path = parent_->path();
  if (!path.empty()) path += '.';
  path += name_;
  if (index_) path += "[" + std::to_string(*index_) + "]";
  return path;
}

void Reader::report(std::string_view key, std::string_view what, std::string_view inside) const {
  if (problem_.text) return;
  auto where = path();
  if (!where.empty() && !key.empty()) where += '.';
  where += key;
  problem_.path = where + std::string(inside);
  problem_.text = where + (where.empty() ? "" : ": ") + std::string(what);
}

const Json* Reader::find(const char* key) const {
  const Json* const field = json::find(value_, {key});
  return field == nullptr || field->is_null() ? nullptr : field;
}

bool Reader::has(const char* key) const {
  return find(key) != nullptr;
}

std::string Reader::text(const char* key) const {
  const Json* const field = find(key);
  if (field == nullptr) return {};
  if (field->is_string()) return field->get_ref<const std::string&>();
  report(key, "not a string");
  return {};
}

std::string Reader::required(const char* key) const {
  auto value = text(key);
  if (value.empty()) report(key, "missing");
  return value;
}

std::optional<bool> Reader::maybe_flag(const char* key) const {
  const Json* const field = find(key);
  if (field == nullptr) return std::nullopt;
  if (field->is_boolean()) return field->get<bool>();
  report(key, "not a boolean");
  return std::nullopt;
}

bool Reader::flag(const char* key, bool fallback) const {
  return maybe_flag(key).value_or(fallback);
}

std::optional<std::uint16_t> Reader::port(const char* key) const {
  const Json* const field = find(key);
  if (field == nullptr) return std::nullopt;
  // The parser makes only numbers that are not negative unsigned, so this checks both limits.
  if (field->is_number_unsigned() && field->get<std::uint64_t>() <= 65535)
    return static_cast<std::uint16_t>(field->get<std::uint64_t>());
  report(key, "not a port number");
  return std::nullopt;
}

int Reader::number(const char* key) const {
  const Json* const field = find(key);
  if (field == nullptr) return 0;
  constexpr std::uint64_t kMax = std::numeric_limits<int>::max();
  if (field->is_number_unsigned() && field->get<std::uint64_t>() <= kMax)
    return static_cast<int>(field->get<std::uint64_t>());
  report(key, "not a number");
  return 0;
}

std::string Reader::number_or_text(const char* key) const {
  const Json* const field = find(key);
  if (field == nullptr || field->is_string()) return text(key);
  if (field->is_number_integer()) return field->dump();
  report(key, "neither a number nor a string");
  return {};
}

std::vector<std::string> Reader::texts(const char* key) const {
  std::vector<std::string> values;
  const Json* const field = find(key);
  if (field == nullptr) return values;
  if (!field->is_array()) report(key, "not a list");
  for (std::size_t i = 0; field->is_array() && i < field->size(); ++i) {
    const auto& element = (*field)[i];
    if (element.is_string())
      values.push_back(element.get_ref<const std::string&>());
    else
      report(key, "not a list of strings", "[" + std::to_string(i) + "]");
  }
  return values;
}

std::map<std::string, std::string> Reader::text_map(const char* key) const {
  std::map<std::string, std::string> values;
  const Json* const field = find(key);
  if (field == nullptr) return values;
  if (!field->is_object()) {
    report(key, "not an object");
    return values;
  }
  for (const auto& [name, value] : field->items()) {
    if (value.is_string())
      values.emplace(name, value.get_ref<const std::string&>());
    else
      report(key, "'" + name + "' is not a string", "." + name);
  }
  return values;
}

Reader Reader::object(const char* key) const {
  const Json* const field = find(key);
  return {field == nullptr ? nothing() : *field, *this, key, kNoIndex};
}

void Reader::each(const char* key, const std::function<void(const Reader&)>& element) const {
  const Json* const field = find(key);
  if (field == nullptr) return;
  if (!field->is_array()) {
    report(key, "not a list");
    return;
  }
  for (std::size_t i = 0; i < field->size(); ++i) element(Reader((*field)[i], *this, key, i));
}

}  // namespace kindlb::json

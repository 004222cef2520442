#include "template.hpp"

#include "embedded_file.hpp"
#include "kindlb/core/assert.hpp"

#include <algorithm>

namespace kindlb::envoy {

using json::Json;

namespace {

/// The name inside "${name}", or empty.
std::string_view placeholder(std::string_view text) {
  if (!text.starts_with("${") || !text.ends_with("}")) return {};
  return text.substr(2, text.size() - 3);
}

Json fill_string(const Json& text, const Values& values) {
  const auto name = placeholder(text.get_ref<const std::string&>());
  if (name.empty()) return text;
  const auto value = values.find(name);
  KINDLB_ASSERT(value != values.end());
  return value->second;
}

}  // namespace

Json load_template(std::string_view name) {
  const auto files = embedded_templates();
  const auto file = std::ranges::find(files, name, &core::EmbeddedFile::name);
  KINDLB_ASSERT(file != files.end());
  auto parsed = json::parse_commented(file->text);
  KINDLB_ASSERT(!parsed.is_discarded());
  return parsed;
}

Json fill(const Json& shape, const Values& values) {
  if (shape.is_string()) return fill_string(shape, values);
  if (!shape.is_structured()) return shape;
  // Build the result instead of modifying a copy, which would copy the leaves once per level.
  Json out(shape.type());
  if (shape.is_array())
    for (const auto& item : shape) out.push_back(fill(item, values));
  else
    for (const auto& [key, item] : shape.items()) out.emplace(key, fill(item, values));
  return out;
}

}  // namespace kindlb::envoy

#include "kindlb/yaml/json.hpp"

#include "kindlb/json/json.hpp"

namespace kindlb::yaml {

namespace {
using json::Json;

Json scalar_to_json(const Node& node) {
  const auto value = resolve(node);
  if (const auto* const number = std::get_if<std::int64_t>(&value); number && *number >= 0)
    return static_cast<std::uint64_t>(*number);
  return std::visit([](const auto& one) { return Json(one); }, value);
}

Json map_to_json(const Node& node) {
  auto out = Json::object();
  for (std::size_t i = 0; i < node.keys.size(); ++i)
    out[node.keys[i].text] = to_json(node.items[i]);
  return out;
}
}  // namespace

Json to_json(const Node& node) {
  switch (node.kind) {
    case Kind::Null:
      return nullptr;
    case Kind::Scalar:
      return scalar_to_json(node);
    case Kind::Map:
      return map_to_json(node);
    case Kind::List:
      break;
  }
  auto out = Json::array();
  for (const auto& item : node.items) out.push_back(to_json(item));
  return out;
}

}  // namespace kindlb::yaml

#include "kindlb/http_server/target.hpp"

#include "kindlb/base/number.hpp"

#include <utility>

namespace kindlb::http_server {

namespace {
/// Split at the first `separator`, which belongs to neither part.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digits = text.substr(i + 1, 2);
    const auto byte = text[i] == '%' && digits.size() == 2
                          ? base::parse_number<unsigned char>(digits, 16)
                          : std::nullopt;
    if (byte) {
      out += static_cast<char>(*byte);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}
}  // namespace

Target parse_target(std::string_view target) {
  auto [path, query] = cut(cut(target, '#').first, '?');
  Target out{.path = decoded(path, false), .query = {}};
  while (!query.empty()) {
    const auto [parameter, rest] = cut(query, '&');
    const auto [name, value] = cut(parameter, '=');
    if (!name.empty()) out.query[decoded(name, true)] = decoded(value, true);
    query = rest;
  }
  return out;
}

}  // namespace kindlb::http_server

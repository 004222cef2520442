#include "app/json_indent.hpp"

namespace kindlb::app {

namespace {

/// The index after the string that begins at `at`.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

void new_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

}  // namespace

std::string json_indent(std::string_view compact) {
  std::string out;
  out.reserve(compact.size() * 2);
  std::size_t depth = 0;
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (c == '"') {
      const auto end = string_end(compact, i);
      out += compact.substr(i, end - i);
      i = end - 1;
    } else if (c == '{' || c == '[') {
      out += c;
      const bool empty = i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']');
      if (empty)
        out += compact[++i];
      else
        new_line(out, ++depth);
    } else if (c == '}' || c == ']') {
      new_line(out, --depth);
      out += c;
    } else if (c == ',') {
      out += c;
      new_line(out, depth);
    } else {
      out += c;
      if (c == ':') out += ' ';
    }
  }
  return out + "\n";
}

}  // namespace kindlb::app
